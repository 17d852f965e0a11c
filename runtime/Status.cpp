//===- Status.cpp - Errors at the library's edge --------------------------===//
#include "replayssm/Status.h"

namespace replayssm {

const char *statusCodeName(StatusCode code) {
  switch (code) {
  case StatusCode::Ok: return "ok";
  case StatusCode::InvalidArgument: return "invalid argument";
  case StatusCode::Unsupported: return "unsupported";
  case StatusCode::Unavailable: return "unavailable";
  case StatusCode::Incompatible: return "incompatible";
  case StatusCode::Exhausted: return "exhausted";
  case StatusCode::Internal: return "internal";
  }
  return "unknown";
}

} // namespace replayssm
