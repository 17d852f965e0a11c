//===- Fiber.cpp - Stacks of device threads and the switch ----------------===//
//
// The one piece of assembly of the host device.
//
//===----------------------------------------------------------------------===//

#include "runtime/host/Fiber.h"

#include <sys/mman.h>

#ifdef RSSM_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

using namespace replayssm::rt;

// The jump instead of a return keeps the indirect predictor in charge: lanes of
// a warp resume at the same place, which the return stack could not know.
asm(R"(
.text
.p2align 4
.globl rssm_fiber_switch
.hidden rssm_fiber_switch
.type rssm_fiber_switch,@function
rssm_fiber_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  popq %rcx
  jmpq *%rcx
.size rssm_fiber_switch,.-rssm_fiber_switch
)");

#ifdef RSSM_ADDRESS_SANITIZER
/// The fiber that the last switch of this OS thread left: its bounds are known
/// only where the switch arrives.
static thread_local Fiber *left = nullptr;

void replayssm::rt::departFiber(Fiber &from, Fiber &to, bool returns) {
  left = &from;
  __sanitizer_start_switch_fiber(returns ? &from.fakeStack : nullptr, to.bottom, to.bytes);
}

void replayssm::rt::arriveFiber(Fiber &fiber) {
  __sanitizer_finish_switch_fiber(fiber.fakeStack, &left->bottom, &left->bytes);
}
#endif

static constexpr size_t kGuardBytes = 4096;
static constexpr size_t kStackBytes = 128 * 1024; // guard page included
static constexpr unsigned kSavedRegisters = 6;

FiberStacks::~FiberStacks() { release(); }

void FiberStacks::release() {
  if (base_)
    munmap(base_, count_ * kStackBytes);
  base_ = nullptr;
  count_ = 0;
}

bool FiberStacks::reserve(uint32_t count) {
  if (count <= count_)
    return true;
  release();
  void *memory = mmap(nullptr, count * kStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return false;
  base_ = static_cast<char *>(memory);
  count_ = count;
  for (uint32_t i = 0; i < count; ++i)
    if (mprotect(base_ + i * kStackBytes, kGuardBytes, PROT_NONE) != 0) {
      release();
      return false;
    }
  return true;
}

Fiber FiberStacks::prepare(uint32_t index, void (*start)()) {
  // Tops at equal distances would share cache sets: stagger them by lines.
  size_t colour = (index % 61) * 192;
  auto top = reinterpret_cast<uintptr_t>(base_ + (index + 1) * kStackBytes - colour);
  auto *stack = reinterpret_cast<uintptr_t *>(top & ~uintptr_t(15));
  *--stack = 0; // a return address that is never used: alignment as after a call
  *--stack = reinterpret_cast<uintptr_t>(start);
  for (unsigned i = 0; i < kSavedRegisters; ++i)
    *--stack = 0;
  Fiber fiber;
  fiber.stack = stack;
#ifdef RSSM_ADDRESS_SANITIZER
  fiber.bottom = base_ + index * kStackBytes + kGuardBytes;
  fiber.bytes = kStackBytes - kGuardBytes;
  // A fiber that was left for good has not cleared its frames.
  __asan_unpoison_memory_region(fiber.bottom, fiber.bytes);
#endif
  return fiber;
}
