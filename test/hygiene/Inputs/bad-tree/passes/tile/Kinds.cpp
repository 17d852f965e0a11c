// replay and packed differ
if (kernel.getKind() == Kind::Packed)
  return "gdn";
