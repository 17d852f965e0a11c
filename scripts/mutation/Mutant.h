//===- Mutant.h - Faults that are chosen at run time ------------*- C++ -*-===//
//
// Part of the mutated tree that scripts/mutate builds, and of nothing else.
// REPLAYSSM_MUTANT holds the number of the fault that a process has.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdlib>
#include <type_traits>
#include <utility>

namespace rssm_mutant {

inline bool on(int number) {
  static const int chosen = [] {
    const char *text = std::getenv("REPLAYSSM_MUTANT");
    return text ? std::atoi(text) : 0;
  }();
  return chosen == number;
}

template <typename A, typename B>
inline constexpr bool areNumbers =
    std::is_arithmetic_v<std::remove_cvref_t<A>> && std::is_arithmetic_v<std::remove_cvref_t<B>>;

// `a OP b` becomes `a OP Name<17>{} OP b`: the same precedence, so that a rewriter
// needs to know neither operand.
#define RSSM_MUTANT_INFIX(Name, OP, CONDITION, ORIGINAL, MUTATED)                                  \
  template <int N> struct Name {};                                                                 \
  template <typename A, int N> struct Name##Left {                                                 \
    A a;                                                                                           \
  };                                                                                               \
  template <typename A, int N> Name##Left<A, N> operator OP(A &&a, Name<N>) {                      \
    return {std::forward<A>(a)};                                                                   \
  }                                                                                                \
  template <typename A, int N, typename B>                                                         \
    requires(CONDITION)                                                                            \
  auto operator OP(Name##Left<A, N> &&left, B &&b) {                                               \
    auto &&a = left.a;                                                                             \
    return on(N) ? (MUTATED) : (ORIGINAL);                                                         \
  }

RSSM_MUTANT_INFIX(Less, <, true, a < b, a <= b)
RSSM_MUTANT_INFIX(LessEqual, <=, true, a <= b, a < b)
RSSM_MUTANT_INFIX(Greater, >, true, a > b, a >= b)
RSSM_MUTANT_INFIX(GreaterEqual, >=, true, a >= b, a > b)
RSSM_MUTANT_INFIX(Equal, ==, true, a == b, a != b)
RSSM_MUTANT_INFIX(NotEqual, !=, true, a != b, a == b)
#define RSSM_MUTANT_NUMBERS (areNumbers<A, B>)
RSSM_MUTANT_INFIX(Plus, +, RSSM_MUTANT_NUMBERS, a + b, a - b)
RSSM_MUTANT_INFIX(Minus, -, RSSM_MUTANT_NUMBERS, a - b, a + b)
RSSM_MUTANT_INFIX(SwapMinus, -, RSSM_MUTANT_NUMBERS, a - b, b - a)
RSSM_MUTANT_INFIX(SwapDivide, /, RSSM_MUTANT_NUMBERS, a / b, b / a)
RSSM_MUTANT_INFIX(SwapModulo, %, RSSM_MUTANT_NUMBERS, a % b, b % a)
#undef RSSM_MUTANT_NUMBERS
#undef RSSM_MUTANT_INFIX

} // namespace rssm_mutant
