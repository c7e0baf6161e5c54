// SPDX-License-Identifier: Apache-2.0
// Functions of float as XLA computes them on a CPU with FMA: its steps, in its
// order, so that draws have its bits. (Those of vec/math are more accurate.)
// XLA's are in its xla/codegen/intrinsic/log.cc and log1p.cc, and the
// decompositions of chlo.erf_inv and chlo.lgamma.
#ifndef XLA_FFI_OPS_RANDOM_XLA_MATH_H_
#define XLA_FFI_OPS_RANDOM_XLA_MATH_H_

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/math/math_vector.h"

namespace xla_ffi_ops::random {

using math::Abs;
using math::Bits;
using math::BitsOf;
using math::MulAdd;
using math::Select;
using math::Splat;
using math::Sqrt;

namespace internal {

// c[0] x^(n - 1) + ... + c[n - 1]: the highest power first.
template <typename V, size_t n>
XLA_FFI_OPS_HD V Horner(V x, const float (&c)[n]) {
  V y = Splat<V>(c[0]);
  for (size_t i = 1; i < n; ++i) y = MulAdd(y, x, c[i]);
  return y;
}

}  // namespace internal

// S. Moshier's logf.
template <typename V>
XLA_FFI_OPS_HD V Log(V x) {
  using internal::Horner;
  using I = math::Like<int32_t, V>;
  constexpr float kInfinity = math::kInfinity<V>;
  const V normal = Select(x > 0x1p-126f, x, Splat<V>(0x1p-126f));
  const Bits<V> bits = BitsOf(normal);
  const V half = math::BitCast<V>((bits & 0x007FFFFFu) | 0x3F000000u);
  const V power =
      1 + __builtin_convertvector(math::BitCast<I>(bits >> 23) - 127, V);
  const auto is_low = half < 0x1.6a09e6p-1f;
  const V f = (half - 1) + Select(is_low, half, V{});
  const V e = power - Select(is_low, Splat<V>(1), V{});
  const V square = f * f, cube = square * f;
  const V high = Horner(f, {0x1.204376p-4f, -0x1.d7a37p-4f, 0x1.de4a34p-4f});
  const V middle = Horner(f, {-0x1.fcba9ep-4f, 0x1.23d37ep-3f, -0x1.555cap-3f});
  const V low = Horner(f, {0x1.999d58p-3f, -0x1.fffff8p-3f, 0x1.555554p-2f});
  const V p = MulAdd(MulAdd(high, cube, middle), cube, low);
  const V small = MulAdd(p, cube, e * -0x1.bd0106p-13f);
  const V large = MulAdd(square, -0.5f, f) + small;
  const V found = MulAdd(e, 0x1.63p-1f, large);
  const V at_most_zero = Select(x == 0, Splat<V>(-kInfinity),
                                Splat<V>(math::Limits<V>::quiet_NaN()));
  return Select(x > 0, Select(x < kInfinity, found, x), at_most_zero);
}

template <typename V>
XLA_FFI_OPS_HD V Log1p(V x) {
  using internal::Horner;
  const V square = x * x;
  const V p = Horner(x, {4.52700011e-05f, 0.498541027f, 6.57873249f,
                         29.9119186f, 60.9496689f, 57.1129646f, 20.0395527f});
  const V q = Horner(x, {1, 15.0629091f, 83.0475693f, 221.762405f, 309.098724f,
                         216.427887f, 60.11866f});
  const V small = x + MulAdd(square, -0.5f, x * square * (p / q));
  return Select(Abs(x) < 0x1.a8279ap-2f, small, Log(x + 1));
}

// M. Giles, Approximating the erfinv function (2011).
template <typename V>
XLA_FFI_OPS_HD V ErfInv(V x) {
  using internal::Horner;
  const V w = -Log1p(V(x * -x));
  const V near =
      Horner(V(w - 2.5f), {2.81022636e-08f, 3.43273939e-07f, -3.5233877e-06f,
                           -4.39150654e-06f, 0.00021858087f, -0.00125372503f,
                           -0.00417768164f, 0.246640727f, 1.50140941f});
  const V far =
      Horner(V(Sqrt(w) - 3), {-0.000200214257f, 0.000100950558f, 0.00134934322f,
                              -0.00367342844f, 0.00573950773f, -0.0076224613f,
                              0.00943887047f, 1.00167406f, 2.83297682f});
  const V found = Select(w < 5, near, far);
  return x * Select(Abs(x) == 1, Splat<V>(math::kInfinity<V>), found);
}

template <typename V>
XLA_FFI_OPS_HD V Floor(V x) {
  constexpr float kIntegers = 0x1p23f;  // There are no fractions from here on.
  const V magnitude = Abs(x);
  const V nearest = math::WithSign(V((magnitude + kIntegers) - kIntegers), x);
  const V below = nearest - Select(nearest > x, Splat<V>(1), V{});
  return Select(magnitude < kIntegers, below, x);
}

// log(k!) by C. Lanczos's sum, for k >= 0: XLA's lgamma(k + 1).
template <typename V>
XLA_FFI_OPS_HD V LogFactorial(V k) {
  V sum = 676.520386f / (k + 1) + 1;
  sum += -1259.13916f / (k + 2);
  sum += 771.323425f / (k + 3);
  sum += -176.615036f / (k + 4);
  sum += 12.5073433f / (k + 5);
  sum += -0.138571098f / (k + 6);
  sum += 9.98436917e-06f / (k + 7);
  sum += 1.50563267e-07f / (k + 8);
  const V log = Log1p(V(k * 0.13333334f)) + 2.01490307f;
  const V power = (k + 0.5f) - (k + 7.5f) / log;
  const V found = MulAdd(log, power, 0.918938518f) + Log(sum);
  return Select(k == math::kInfinity<V>, k, found);
}

namespace internal {

// The highest 12 bits, of which products are exact.
template <typename V>
XLA_FFI_OPS_HD V High12(V x) {
  return math::BitCast<V>(BitsOf(x) & ~0xFFFu);
}

}  // namespace internal

// log(k!) for integers k >= 0, as jax 0.12 has lgamma(k + 1): by Stirling's
// series, whose largest product is a sum of exact ones.
template <typename V>
XLA_FFI_OPS_HD V LogFactorialOfJax(V k) {
  using internal::High12;
  using internal::Horner;
  using I = math::Like<int32_t, V>;
  constexpr float kMost = 4.08500311e+36f;  // The result overflows behind it.
  const V x = Select(k + 1 < kMost, k + 1, Splat<V>(kMost));
  const V inverse = 1 / x, square = inverse * inverse;
  // log(x) = log(2) e + log(1 + f)
  const I bits = math::BitCast<I>(x);
  const I exponent = (bits - 0x3F350473) >> 23;
  const V e = __builtin_convertvector(exponent, V);
  const V f = math::BitCast<V>(bits - (exponent << 23)) - 1;
  const V f2 = f * f;
  const V p = Horner(f, {-0.0635454953f, 0.106187068f, -0.106258489f,
                         0.110219181f, -0.124513313f, 0.1428743f, -0.166680068f,
                         0.199999928f, -0.249999896f, 0.333333343f});
  const V high = e * 0.693115234f;
  const V low =
      MulAdd(e, 3.19461833e-05f, MulAdd(f2 * f, p, MulAdd(f2, -0.5f, f)));
  const V log = high + low, log_high = High12(log);
  const V log_low = (log - log_high) + ((high - log) + low);
  // (x - 1/2) (log(x) - 1)
  const V factor = x - 0.5f, factor_high = High12(factor);
  const V other = log_high - 1;
  const V rest = MulAdd(factor - factor_high, other, factor * log_low);
  const V series =
      Horner(square, {0.000841750822f, -0.000595238118f, 0.000793650805f,
                      -0.00277777785f, 0.0833333358f});
  const V found =
      factor_high * other + MulAdd(inverse, series, V(rest + 0.418938518f));
  const V few =
      Select(k < 2, V{},
             Select(k < 3, Splat<V>(0x1.62e43p-1f), Splat<V>(0x1.cab0cp+0f)));
  const V known = Select(k < 4, few, found);
  return Select(k + 1 > kMost, Splat<V>(math::kInfinity<V>), known);
}

namespace internal {

// The processor's guess of 1 / sqrt(x), which differs between makers.
#ifdef XLA_FFI_OPS_CPU_LEVELS
inline math::VecOfBytes<float, 16> GuessRsqrt(math::VecOfBytes<float, 16> x) {
  return __builtin_ia32_rsqrtps(x);
}
XLA_FFI_OPS_V3 inline math::VecOfBytes<float, 32> GuessRsqrt(
    math::VecOfBytes<float, 32> x) {
  return __builtin_ia32_rsqrtps256(x);
}
// AVX-512 has a better one, which XLA does not use.
XLA_FFI_OPS_V4 inline math::VecOfBytes<float, 64> GuessRsqrt(
    math::VecOfBytes<float, 64> x) {
  using Halves = math::HalvesOf<math::VecOfBytes<float, 64>>;
  Halves halves = math::BitCast<Halves>(x);
  halves = {__builtin_ia32_rsqrtps256(halves.low),
            __builtin_ia32_rsqrtps256(halves.high)};
  return math::BitCast<math::VecOfBytes<float, 64>>(halves);
}
#else
template <typename V>
XLA_FFI_OPS_HD V GuessRsqrt(V x) {
  return 1 / Sqrt(x);
}
#endif

}  // namespace internal

// 1 / sqrt(x): two steps of Newton's method for positive, normal numbers.
template <typename V>
XLA_FFI_OPS_HD V Rsqrt(V x) {
  const V guess = internal::GuessRsqrt(x);
  V y = guess;
  for (int step = 0; step < 2; ++step) {
    y = MulAdd(y * -0.5f, MulAdd(x * y, y, -1.0f), y);
  }
  const V known = Select(x == math::kInfinity<V>, guess, y);
  return Select(x < 0x1p-126f, guess, known);
}

// XLA calls the C library for each lane, too.
template <typename V>
V Pow(V x, V y) {
  for (int i = 0; i < math::kLanesOf<V>; ++i) x[i] = std::pow(x[i], y[i]);
  return x;
}

}  // namespace xla_ffi_ops::random

#endif  // XLA_FFI_OPS_RANDOM_XLA_MATH_H_
