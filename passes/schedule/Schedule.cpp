//===- Schedule.cpp ---------------------------------------------===//
#include "passes/Passes.h"

namespace replayssm {
#define GEN_PASS_DEF_SCHEDULE
#include "passes/Passes.h.inc"
} // namespace replayssm

namespace {
struct Schedule : replayssm::impl::ScheduleBase<Schedule> {
  using ScheduleBase::ScheduleBase;
  void runOnOperation() override {
    getOperation()->emitError() << "pass '" << getArgument() << "' is not built yet";
    signalPassFailure();
  }
};
} // namespace
