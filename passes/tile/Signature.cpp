//===- Signature.cpp - What a kernel touches ------------------------------===//
#include "passes/tile/Signature.h"

#include "replayssm/KernelABI.h"

using namespace mlir;
using namespace replayssm;
using namespace replayssm::lower;

Type lower::integerType(MLIRContext *context, StringRef name) {
  switch (findKernelBuffer(name)->element) {
  case KernelBuffer::Element::Flag:
    return IntegerType::get(context, 8);
  case KernelBuffer::Element::Index:
    return IntegerType::get(context, 32);
  case KernelBuffer::Element::Number:
    break;
  }
  llvm_unreachable("the ops' verifiers admit integers only");
}

FailureOr<Signature> Signature::of(replay::KernelOp kernel) {
  MLIRContext *context = kernel.getContext();
  Type i32 = IntegerType::get(context, 32);
  Type f32 = Float32Type::get(context);
  llvm::StringMap<Type> used;
  Signature signature;
  replay::RingAttr ring = kernel.getRingAttr();
  auto element = [](Value v) { return cast<ShapedType>(v.getType()).getElementType(); };
  auto stateType = [](Value v) { return cast<replay::StateType>(v.getType()).getDtype(); };
  Operation *setCursor = nullptr, *shared = nullptr;
  std::string sharedName, clash;

  WalkResult walk = kernel.getBody().walk([&](Operation *op) {
    auto use = [&](const Twine &name, Type type) {
      Type &known = used[name.str()];
      if (known && known != type && clash.empty())
        llvm::raw_string_ostream(clash) << "expected '" << name << "' to be '" << known
                                        << "' as elsewhere in the kernel but got '" << type << "'";
      known = type;
    };
    auto useField = [&](replay::FieldAttr field) { use(field.getBuffer(), field.getDtype()); };
    // What every layer would write to the same place.
    auto writeShared = [&](StringRef name) {
      if (!shared) {
        shared = op;
        sharedName = name;
      }
    };
    bool perHead = isa_and_nonnull<replay::ReplayDialect>(op->getDialect());
    if (auto rowOp = dyn_cast<replay::RowOp>(op)) {
      perHead = false;
      used["state_idx"] = i32;
      if (!rowOp.getRing().use_empty())
        used["ring_idx"] = i32;
    } else if (isa<replay::WindowOp>(op)) {
      perHead = false;
      used["query_start_loc"] = i32;
    } else if (isa<replay::ExpectOp, replay::PhaseOp, replay::StageOp, replay::FetchOp>(op)) {
      perHead = false;
    } else if (isa<replay::LoadParentsOp>(op)) {
      perHead = false;
      used["parent"] = i32;
    } else if (auto load = dyn_cast<replay::LoadSlotOp>(op)) {
      perHead = false;
      used[load.getName()] = integerType(context, load.getName());
    } else if (auto load = dyn_cast<replay::LoadRowOp>(op)) {
      perHead = false;
      used[load.getName()] = integerType(context, load.getName());
    } else if (auto store = dyn_cast<replay::StoreRowOp>(op)) {
      perHead = false;
      used["state_idx"] = used[store.getName()] = i32;
      writeShared(store.getName());
    } else if (auto cursor = dyn_cast<replay::SetCursorOp>(op)) {
      perHead = false;
      used[cursor.getName()] = integerType(context, cursor.getName());
      setCursor = op;
      writeShared(cursor.getName());
    } else if (auto state = dyn_cast<replay::LoadStateOp>(op)) {
      use(state.getAt() ? "snapshots" : "state", stateType(state.getState()));
    } else if (auto store = dyn_cast<replay::StoreStateOp>(op)) {
      use(store.getAt() ? "snapshots" : "state", stateType(store.getState()));
      if (store.getAt())
        writeShared("snapshots");
    } else if (auto field = dyn_cast<replay::LoadFieldOp>(op)) {
      useField(ring.getField(field.getName()));
    } else if (isa<replay::PathMaskOp>(op)) {
      perHead = false;
      used["accept_idx"] = i32;
    } else if (isa<replay::MoveRecordOp>(op)) {
      llvm::for_each(ring.getFields(), useField);
    } else if (auto record = dyn_cast<replay::LoadRecordOp>(op)) {
      useField(ring.getField(record.getName()));
    } else if (auto append = dyn_cast<replay::AppendOp>(op)) {
      for (auto name : append.getFields().getAsRange<StringAttr>())
        useField(ring.getField(name.getValue()));
    } else if (auto token = dyn_cast<replay::LoadTokenOp>(op)) {
      use(token.getBuffer(), element(token.getValue()));
      signature.widths[token.getBuffer()] = cast<ShapedType>(token.getValue().getType()).getDimSize(1);
    } else if (auto param = dyn_cast<replay::LoadParamOp>(op)) {
      used[param.getName()] = f32;
      signature.widths[param.getName()] = cast<ShapedType>(param.getValue().getType()).getDimSize(1);
    } else if (auto out = dyn_cast<replay::StoreOutOp>(op)) {
      used["state_idx"] = i32; // null rows get zeros
      use("out", out.getIo());
      writeShared("out");
    }
    signature.perHead |= perHead;
    if (!clash.empty()) {
      op->emitOpError() << clash;
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  if (shared && kernel.getLayers())
    return shared->emitOpError() << "expected every layer to have its own of what a kernel of many layers writes, but '"
                                 << sharedName << "' is shared";
  if (setCursor && signature.perHead)
    return setCursor->emitOpError() << "expected a kernel of its own: other blocks of the row "
                                       "may still read the cursor";

  // A ring has its own order, and may have fields of the kernel's own.
  SmallVector<std::pair<std::string, const KernelBuffer *>> table;
  bool hasRing = false;
  for (const KernelBuffer &buffer : kernelBuffers) {
    if (buffer.entry != KernelBuffer::Entry::Record) {
      table.push_back({std::string(buffer.name), &buffer});
    } else if (ring && !std::exchange(hasRing, true)) {
      for (replay::FieldAttr field : ring.getFields())
        table.push_back({field.getBuffer(), findKernelBuffer(field.getBuffer())});
    }
  }
  llvm::erase_if(table, [&](auto &entry) { return !used.contains(entry.first); });

  std::optional<replay::Layers> layers = kernel.getLayers();
  for (auto &[name, buffer] : table)
    signature.args.push_back({name, used[name], buffer->isLayered && layers == replay::Layers::Table});
  for (auto &[name, buffer] : table)
    if (buffer->isStrided)
      signature.args.push_back({name + "_stride", Type()});
  for (auto &[name, buffer] : table)
    if (layers == replay::Layers::Stride && buffer->isLayered)
      signature.args.push_back({name + "_layer_stride", Type()});
  return signature;
}

bool Signature::isLayered(StringRef name) {
  const KernelBuffer *buffer = findKernelBuffer(name);
  return buffer && buffer->isLayered;
}

int64_t Signature::extent(StringRef buffer, replay::RingAttr ring, const Dims &dims) const {
  int64_t state = dims.HV * dims.V * dims.K;
  if (buffer == "state")
    return state;
  if (buffer == "snapshots")
    return dims.maxTokens * state;
  if (buffer == "mixed_qkv")
    return 2 * dims.H * dims.K + dims.HV * dims.V;
  if (buffer == "out")
    return dims.HV * dims.V;
  if (buffer.consume_back("_ring")) {
    replay::FieldAttr field = ring.getField(buffer);
    int64_t heads = field.getHead() == replay::Head::Key ? dims.H : dims.HV;
    return heads * ring.getLength() * fieldWidth(field, dims);
  }
  return dims.HV * widths.lookup(buffer);
}

FunctionType Signature::functionType(MLIRContext *context) const {
  SmallVector<Type> inputs;
  for (const Arg &arg : args)
    inputs.push_back(arg.element ? Type(LLVM::LLVMPointerType::get(context, 1))
                                 : Type(IntegerType::get(context, 64)));
  return FunctionType::get(context, inputs, {});
}

DictionaryAttr Signature::manifest(replay::KernelOp kernel, const Dims &dims) const {
  Builder b(kernel.getContext());
  SmallVector<Attribute> list;
  for (const Arg &arg : args) {
    if (!arg.element) {
      StringRef buffer = arg.name;
      if (!buffer.consume_back("_layer_stride"))
        buffer.consume_back("_stride");
      list.push_back(b.getArrayAttr({b.getStringAttr(arg.name), b.getStringAttr("stride"), b.getStringAttr("i64"),
                                     b.getI64IntegerAttr(extent(buffer, kernel.getRingAttr(), dims))}));
      continue;
    }
    std::string dtype;
    llvm::raw_string_ostream(dtype) << arg.element;
    list.push_back(b.getStrArrayAttr({arg.name, arg.isTable ? "table" : "pointer", dtype}));
  }
  int64_t blocks = perHead ? dims.HV * dims.tiles() : 1;
  return b.getDictionaryAttr({
      b.getNamedAttr("name", b.getStringAttr(kernel.getSymName())),
      b.getNamedAttr("spec", b.getStringAttr(kernel.getSpec().value_or(""))),
      b.getNamedAttr("threads", b.getI64IntegerAttr(dims.warps * 32)),
      b.getNamedAttr("blocksPerRow", b.getI64IntegerAttr(blocks)),
      b.getNamedAttr("sharedBytes", b.getI64IntegerAttr(0)),
      b.getNamedAttr("args", b.getArrayAttr(list)),
  });
}
