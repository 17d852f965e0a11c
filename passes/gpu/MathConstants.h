//===- MathConstants.h - Constants of the expanded functions ----*- C++ -*-===//
//
// Shared by replay-expand-math and the test that measures the same sequences on
// the host. No LLVM here.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace replayssm::mathk {

// exp(x) = 2^f * 2^n with n = rint(x log2(e)) and f the rest, |f| <= 1/2. A
// polynomial gives 2^f: ex2.approx alone (2 ulp) would spend the 4 ulp that
// the gate -exp(A) softplus(x) may err on its two exponentials.
inline constexpr float log2eHi = 0x1.715476p+0f; ///< log2(e) rounded to float
inline constexpr float log2eLo = 0x1.4ae0cp-26f; ///< log2(e) - log2eHi
/// 1.5 * 2^23 plus the exponent bias: the low bits of x log2(e) + expMagic are
/// the biased exponent of 2^n, from 0 (the result is 0) to 255 (infinite).
inline constexpr float expMagic = 12582912.0f + 127.0f;
inline constexpr float expMin = -88.0f, expMax = 89.0f;
inline constexpr int32_t exponentShift = 23;
/// 2^f by ascending powers: minimax of the relative error on [-1/2, 1/2] with
/// 2^0 = 1, 1.1e-8.
inline constexpr float exp2Q[] = {0x1.000000p+0f, 0x1.62e430p-1f, 0x1.ebfbe0p-3f, 0x1.c6afdcp-5f,
                                  0x1.3b29b2p-7f, 0x1.5ee59ep-10f, 0x1.45f912p-13f};
inline constexpr int exp2Terms = sizeof(exp2Q) / sizeof(exp2Q[0]);

// exp as a pair of floats: x = n ln2 + r, exp(r) = 1 + r + r^2/2 + r^3 Q(r).
inline constexpr float ln2Hi = 0x1.62e4p-1f; ///< ln 2 to 15 bits: n ln2Hi is exact
inline constexpr float ln2Lo = 0x1.7f7d1cp-20f; ///< ln 2 - ln2Hi
/// Q by ascending powers: Taylor; r^9/9! is 2e-10 on [-0.35, 0.35].
inline constexpr float expTailQ[] = {0x1.555556p-3f, 0x1.555556p-5f, 0x1.111112p-7f, 0x1.6c16c2p-10f,
                                     0x1.a01a02p-13f, 0x1.a01a02p-16f};
inline constexpr int expTailTerms = sizeof(expTailQ) / sizeof(expTailQ[0]);

// Gates: within +-rateBound exp(A_log) and what it multiplies are taken as they are.
// Beyond, 2^rateScaleBits changes sides. An A_log below rateFloor is no longer told from it:
// no sum of two floats gives a g of 1e-6 there. Nor one above rateCeiling: the smallest
// float ends the sigmoid there.
inline constexpr float rateBound = 80, rateFloor = -104, rateCeiling = 108;
inline constexpr int32_t rateScaleBits = 32;
inline constexpr float rateScale = 0x1p32f;
/// ln(rateScale) less 6e-8, in so few bits that it is added to an A_log below -rateBound without an error.
inline constexpr float rateScaleLog = 0x1.62e43p+4f;
/// A lower bound of this size lifts numbers below 2^-126 to where they count; from |z| = vastFrom
/// on an exponential of them is short of bits.
inline constexpr float vastBound = 0x1p105f, vastFrom = 87.4f;

// log1p(u) = k ln2 + log1p(f), 1 + f = (1 + u) 2^-k in [0.75, 1.5).
inline constexpr int32_t threeQuartersBits = 0x3f400000;
inline constexpr int32_t exponentMask = static_cast<int32_t>(0xff800000u);
inline constexpr int32_t fourBits = 0x40800000; ///< 4 * 2^-k stays normal for every k
inline constexpr float ln2PerBit = 0x1.62e430p-24f; ///< ln 2 * 2^-23: k is kept shifted
/// log1p(f) = f + f^2 Q(f), Q by ascending powers: minimax of the relative error
/// of the sum on [-0.25, 0.5] with Q(0) = -1/2, 5.7e-9.
inline constexpr float log1pQ[] = {-0x1.000000p-1f, 0x1.5555acp-2f,  -0x1.000082p-2f,
                                   0x1.99671ep-3f,  -0x1.54d6c8p-3f, 0x1.287694p-3f,
                                   -0x1.0e8bf6p-3f, 0x1.b1c5b2p-4f,  -0x1.78dc52p-5f};
inline constexpr int log1pTerms = sizeof(log1pQ) / sizeof(log1pQ[0]);

/// A Newton correction is taken where its relative size is below this; beyond,
/// the approximation is 0, infinite or NaN and already the answer.
inline constexpr float newtonLimit = 0.5f;

} // namespace replayssm::mathk
