// SPDX-License-Identifier: Apache-2.0
// Functions as XLA computes them on a CPU with FMA: its steps, in its order, so
// that draws have its bits. (Those of vec/math are more accurate.)
// XLA's are in its xla/codegen/intrinsic/log.cc and log1p.cc, and the
// decompositions of chlo.erf_inv and chlo.lgamma.
#ifndef XLA_FFI_OPS_RANDOM_XLA_MATH_H_
#define XLA_FFI_OPS_RANDOM_XLA_MATH_H_

#include <cstddef>
#include <cstdint>

#include "xla_ffi_ops/random/c_library.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/math/guess_rsqrt.h"
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
XLA_FFI_OPS_HD V Horner(V x, const double (&c)[n]) {
  V y = Splat<V>(c[0]);
  for (size_t i = 1; i < n; ++i) {
    y = MulAdd(y, x, static_cast<math::Element<V>>(c[i]));
  }
  return y;
}

// A function of the C library for each lane: what XLA calls, too, for double
// and for powers.
template <typename V, typename Fn>
XLA_FFI_OPS_HD V EachLane(V x, const Fn& fn) {
  for (int i = 0; i < math::kLanesOf<V>; ++i) x[i] = fn(x[i], i);
  return x;
}

// S. Moshier's logf.
template <typename V>
XLA_FFI_OPS_HD V LogOfFloat(V x) {
  using I = math::Like<int32_t, V>;
  const V normal = Select(x > 0x1p-126f, x, Splat<V>(0x1p-126f));
  const Bits<V> bits = BitsOf(normal);
  const V half = math::BitCast<V>((bits & 0x007FFFFFu) | 0x3F000000u);
  const V power =
      1 + __builtin_convertvector(math::BitCast<I>(bits >> 23) - 127, V);
  const auto is_low = half < 0x1.6a09e6p-1f;
  const V f = (half - 1) + Select(is_low, half, V{});
  const V e = power - Select(is_low, Splat<V>(1), V{});
  const V square = f * f, cube = square * f;
  const V high = Horner(f, {0x1.204376p-4, -0x1.d7a37p-4, 0x1.de4a34p-4});
  const V middle = Horner(f, {-0x1.fcba9ep-4, 0x1.23d37ep-3, -0x1.555cap-3});
  const V low = Horner(f, {0x1.999d58p-3, -0x1.fffff8p-3, 0x1.555554p-2});
  const V p = MulAdd(MulAdd(high, cube, middle), cube, low);
  const V small = MulAdd(p, cube, e * -0x1.bd0106p-13f);
  const V large = MulAdd(square, -0.5f, f) + small;
  return MulAdd(e, 0x1.63p-1f, large);
}

// M. Giles, Approximating the erfinv function (2011): of double, for
// w = -log(1 - x^2) up to 6.25, up to 16, and above.
inline constexpr double kErfInvNear[] = {
    -0x1.135d2e746e627p-68, -0x1.8ddf93324d327p-63, 0x1.7b83eef0b7c9fp-60,
    0x1.9ba72cd589b91p-57,  -0x1.33689090a6b96p-53, 0x1.82e11898132ep-56,
    0x1.de4acfd9e26bap-48,  -0x1.6d33eed66c487p-45, -0x1.6f2167040d8e2p-44,
    0x1.72a22c2d77e2p-39,   -0x1.c8859c4e5c0afp-37, -0x1.dc583d118a561p-35,
    0x1.20f47ccf46b3cp-30,  -0x1.1a9e38dc84d6p-28,  -0x1.f36cd6d3d46a9p-26,
    0x1.c6b4f5d03b787p-22,  -0x1.6e8a5434ae8a2p-20, -0x1.d1d1f7b8736f6p-17,
    0x1.879c2a212f024p-13,  -0x1.845769484fca8p-11, -0x1.8b6c33114f909p-8,
    0x1.ebd80d9b13e28p-3,   0x1.a755e7c99ae86p+0};
inline constexpr double kErfInvMiddle[] = {
    0x1.3040f87dbd932p-29, 0x1.85cbe52878635p-24,  -0x1.2777453dd3955p-22,
    0x1.395abcd554c6cp-26, 0x1.936388a3790adp-20,  -0x1.0d5db812b5083p-18,
    0x1.8860cd5d652f6p-19, 0x1.a29a0cacdfb23p-17,  -0x1.8cef1f80281f2p-15,
    0x1.1e684d0b9188ap-14, 0x1.932cd54c8a222p-16,  -0x1.7448a89ef8aa3p-12,
    0x1.f3cc55ad40c25p-11, -0x1.ba924132f38b1p-10, 0x1.468eeca533cf8p-9,
    -0x1.ebadabb891bbdp-9, 0x1.5ffcfe5b76afcp-8,   0x1.0158a6d641d39p+0,
    0x1.8abcc380d5a48p+1};
inline constexpr double kErfInvFar[] = {
    -0x1.dcec3a7785389p-36, -0x1.18feec0e38727p-32, 0x1.9e6bf2dda45e3p-30,
    -0x1.0468fb24e2f5fp-28, 0x1.05ac6a8fba182p-27,  -0x1.0102e495fb9cp-26,
    0x1.f4c20e1334af8p-26,  -0x1.22d220fdf9c3ep-24, 0x1.ebc8bb824cb54p-23,
    -0x1.0a8d40ea372ccp-20, 0x1.2fbd29d093d2bp-18,  -0x1.4a3497e1e0facp-16,
    0x1.3ebf4eb00938fp-14,  -0x1.c2f36a8fc5d53p-13, -0x1.22ea5df04047cp-13,
    0x1.02a30d1fba0dcp+0,   0x1.3664ddd1ad7fbp+2};

template <typename V>
XLA_FFI_OPS_HD V ErfInvOfFloat(V w) {
  const V near =
      Horner(V(w - 2.5f), {2.81022636e-08f, 3.43273939e-07f, -3.5233877e-06f,
                           -4.39150654e-06f, 0.00021858087f, -0.00125372503f,
                           -0.00417768164f, 0.246640727f, 1.50140941f});
  const V far =
      Horner(V(Sqrt(w) - 3), {-0.000200214257f, 0.000100950558f, 0.00134934322f,
                              -0.00367342844f, 0.00573950773f, -0.0076224613f,
                              0.00943887047f, 1.00167406f, 2.83297682f});
  return Select(w < 5, near, far);
}
template <typename V>
XLA_FFI_OPS_HD V ErfInvOfDouble(V w) {
  const V root = Sqrt(w);
  const V near = Horner(V(w - 3.125), kErfInvNear);
  const V middle = Horner(V(root - 3.25), kErfInvMiddle);
  const V far = Horner(V(root - 5), kErfInvFar);
  return Select(w < 6.25, near, Select(w < 16, middle, far));
}

}  // namespace internal

template <typename V>
XLA_FFI_OPS_HD V Log(V x) {
  if constexpr (math::kIsFloat<V>) {
    constexpr float kInfinity = math::kInfinity<V>;
    const V found = internal::LogOfFloat(x);
    const V at_most_zero = Select(x == 0, Splat<V>(-kInfinity),
                                  Splat<V>(math::Limits<V>::quiet_NaN()));
    return Select(x > 0, Select(x < kInfinity, found, x), at_most_zero);
  } else {
    return internal::EachLane(x, [](double x, int) { return LogOf(x); });
  }
}

// S. Moshier's rational function is taken from here on, up to the same number
// above 0. Newer jaxlibs begin later with double; callers know where.
inline constexpr double kLog1pFrom = -0.41421356237309503;

template <typename V>
XLA_FFI_OPS_HD V Log1p(V x, double from = kLog1pFrom) {
  using internal::Horner;
  using E = math::Element<V>;
  const V square = x * x;
  const V p = Horner(x, {4.5270000862445199635215e-5, 0.49854102823193375972212,
                         6.5787325942061044846969, 29.911919328553073277375,
                         60.949667980987787057556, 57.112963590585538103336,
                         20.039553499201281259648});
  const V q = Horner(x, {1, 15.062909083469192043167, 83.047565967967209469434,
                         221.76239823732856465394, 309.09872225312059774938,
                         216.42788614495947685003, 60.118660497603843919306});
  const V small = x + MulAdd(square, E(-0.5), x * square * (p / q));
  const V large = Log(x + 1);
  if (math::kIsFloat<V>) from = kLog1pFrom;
  return Select(x > E(from), Select(x < E(-kLog1pFrom), small, large), large);
}

template <typename V>
XLA_FFI_OPS_HD V ErfInv(V x, double log1p_from = kLog1pFrom) {
  const V w = -Log1p(V(x * -x), log1p_from);
  V found;
  if constexpr (math::kIsFloat<V>) {
    found = internal::ErfInvOfFloat(w);
  } else {
    found = internal::ErfInvOfDouble(w);
  }
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

template <typename V>
XLA_FFI_OPS_HD V Ceil(V x) {
  return -Floor(V(-x));
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

// 1 / sqrt(x): two steps of Newton's method for positive, normal numbers.
template <typename V>
XLA_FFI_OPS_HD V Rsqrt(V x) {
  if constexpr (math::kGuessesRsqrt<V>) {
    using E = math::Element<V>;
    const V guess = math::GuessRsqrt(x);
    V y = guess;
    for (int step = 0; step < 2; ++step) {
      y = MulAdd(y * E(-0.5), MulAdd(x * y, y, E(-1)), y);
    }
    const V known = Select(x == math::kInfinity<V>, guess, y);
    return Select(x < math::Limits<V>::min(), guess, known);
  } else {
    return 1 / Sqrt(x);
  }
}

template <typename V>
XLA_FFI_OPS_HD V Pow(V x, V y) {
  return internal::EachLane(
      x, [&](auto x, int lane) { return PowOf(x, y[lane]); });
}

}  // namespace xla_ffi_ops::random

#endif  // XLA_FFI_OPS_RANDOM_XLA_MATH_H_
