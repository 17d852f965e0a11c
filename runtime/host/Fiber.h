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

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RSSM_ADDRESS_SANITIZER 1
#endif
#endif

/// One flow of control: a device thread, or the OS thread that runs the block.
struct Fiber {
  void *stack = nullptr; ///< The stack pointer while it does not run.
#ifdef RSSM_ADDRESS_SANITIZER
  // What the sanitizer has to be told at each switch.
  const void *bottom = nullptr;
  size_t bytes = 0;
  void *fakeStack = nullptr;
#endif
};

extern "C" void rssm_fiber_switch(void **savedStack, void *nextStack);

// What the sanitizer is told before a switch and behind it.
#ifdef RSSM_ADDRESS_SANITIZER
void departFiber(Fiber &from, Fiber &to, bool returns);
void arriveFiber(Fiber &fiber);
#else
inline void departFiber(Fiber &, Fiber &, bool) {}
inline void arriveFiber(Fiber &) {}
#endif

/// Goes on in `to`; returns when something switches to `from`.
inline void switchFiber(Fiber &from, Fiber &to) {
  departFiber(from, to, /*returns=*/true);
  rssm_fiber_switch(&from.stack, to.stack);
  arriveFiber(from);
}

/// As switchFiber, where nothing will switch to `from`.
[[noreturn]] inline void leaveFiber(Fiber &from, Fiber &to) {
  departFiber(from, to, /*returns=*/false);
  rssm_fiber_switch(&from.stack, to.stack);
  __builtin_unreachable();
}

/// One mapping of equal stacks, each above a guard page. Move-free owner.
class FiberStacks {
public:
  FiberStacks() = default;
  FiberStacks(const FiberStacks &) = delete;
  FiberStacks &operator=(const FiberStacks &) = delete;
  ~FiberStacks();

  /// Makes room for `count` stacks; false when memory is exhausted.
  bool reserve(uint32_t count);
  /// A fiber that enters `start`, which never returns, on stack `index`.
  Fiber prepare(uint32_t index, void (*start)());

private:
  void release();
  char *base_ = nullptr;
  uint32_t count_ = 0;
};

} // namespace replayssm::rt
