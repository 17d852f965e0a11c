//===- Fiber.h - Stacks of device threads and the switch --------*- C++ -*-===//
//
// A device thread runs on a stack of its own; switching saves the callee-saved
// registers and costs no system call.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>

#if !defined(__x86_64__)
#error "the host device supports x86-64 only"
#endif

namespace replayssm::rt {

extern "C" void rssm_fiber_switch(void **savedStack, void *nextStack);

/// One mapping of equal stacks, each above a guard page. Move-free owner.
class FiberStacks {
public:
  FiberStacks() = default;
  FiberStacks(const FiberStacks &) = delete;
  FiberStacks &operator=(const FiberStacks &) = delete;
  ~FiberStacks();

  /// Makes room for `count` stacks; false when memory is exhausted.
  bool reserve(uint32_t count);
  /// The stack pointer from which a switch enters `start`, which never returns.
  void *prepare(uint32_t index, void (*start)());

private:
  void release();
  char *base_ = nullptr;
  uint32_t count_ = 0;
};

} // namespace replayssm::rt
