// SPDX-License-Identifier: Apache-2.0
// Sin, Cos, Tan, of arguments of any size. Those of float are computed in
// double. In a lane above 2^20 they take much longer.
#ifndef XLA_FFI_OPS_KIT_MATH_TRIGONOMETRIC_H_
#define XLA_FFI_OPS_KIT_MATH_TRIGONOMETRIC_H_

#include <cstdint>

#include "xla_ffi_ops/kit/math/angle.h"
#include "xla_ffi_ops/kit/math/vector.h"

namespace xla_ffi_ops::math {

namespace internal {

// With z = r^2: (sin(r) - r) / r^3, and (cos(r) - 1 + z / 2) / z^2. The short
// ones are right to float.
inline constexpr double kShortSin[] = {
    -0x1.5555459828799p-3, 0x1.1107608316648p-7, -0x1.994ed78d562dap-13};
inline constexpr double kShortCos[] = {
    0x1.55554ab76089p-5, -0x1.6c0c8def66278p-10, 0x1.9a02fca9405dap-16};
inline constexpr double kSin[] = {
    -0x1.5555555555549p-3, 0x1.111111110f8a9p-7,   -0x1.a01a019c16ab9p-13,
    0x1.71de357ba9c5bp-19, -0x1.ae5e6910426a4p-26, 0x1.5d93c4c5a749cp-33};
inline constexpr double kCos[] = {0x1.555555555554cp-5,  -0x1.6c16c16c15223p-10,
                                  0x1.a01a019cc001fp-16, -0x1.27e4f813453fep-22,
                                  0x1.1ee9f1c068fbcp-29, -0x1.8fb16e78509p-37};

template <typename V>
struct SinCos {
  V sin, cos;
};

template <bool is_short, typename V>
XLA_FFI_OPS_HD SinCos<V> OfAngle(const Angle<V>& angle) {
  const V r = angle.r, z = r * r;
  if constexpr (is_short) {
    return {r + r * z * Polynomial(z, kShortSin),
            1 - z * (0.5 - z * Polynomial(z, kShortCos))};
  } else {
    const V half = r * 0.5;
    const V first = 1 - half * r;
    const V lost = (1 - first) - half * r;
    const V turn = Fixed(r * angle.low);
    const V cos = first + (z * z * Polynomial(z, kCos) + (lost - turn));
    const V low = Fixed(angle.low * first);
    return {r + (r * z * Polynomial(z, kSin) + low), cos};
  }
}

// The sine of |x| + n pi / 2.
template <bool is_short, typename V>
XLA_FFI_OPS_HD V SinOf(V x, int n) {
  const auto angle = Reduce<!is_short>(Abs(x));
  const auto both = OfAngle<is_short>(angle);
  const Bits<V> quadrant = angle.n + static_cast<unsigned>(n);
  const V sin = Select((quadrant & 1) == 0, both.sin, both.cos);
  return BitCast<V>(BitsOf(sin) ^ (quadrant << 62 & kSign<V>));
}

template <bool is_short, typename V>
XLA_FFI_OPS_HD V TanOf(V x) {
  const auto angle = Reduce<!is_short>(Abs(x));
  const auto both = OfAngle<is_short>(angle);
  const auto even = (angle.n & 1) == 0;
  const V tan =
      Select(even, both.sin, both.cos) / Select(even, both.cos, both.sin);
  return BitCast<V>(BitsOf(tan) ^ (angle.n << 63) ^ (BitsOf(x) & kSign<V>));
}

template <typename V>
XLA_FFI_OPS_HD V FlipSign(V x, V sign) {
  return BitCast<V>(BitsOf(x) ^ (BitsOf(sign) & kSign<V>));
}

// A scalar becomes a vector: it would have branches, and other bits.
template <typename Fn, typename V>
XLA_FFI_OPS_HD V OfVector(Fn fn, V x) {
  if constexpr (kIsScalar<V>) {
    using Vector = typename VectorOf<double, 16>::type;
    return static_cast<V>(fn(Fill<Vector>(x))[0]);
  } else {
    return InDouble(fn, x);
  }
}

}  // namespace internal

// At most 0.6 ulp for float and 1 for double.
template <typename V>
XLA_FFI_OPS_HD V Sin(V x) {
  return internal::OfVector(
      [](auto d) XLA_FFI_OPS_INLINED {
        return internal::FlipSign(internal::SinOf<kIsFloat<V>>(d, 0), d);
      },
      x);
}

// At most 0.6 ulp for float and 1 for double.
template <typename V>
XLA_FFI_OPS_HD V Cos(V x) {
  return internal::OfVector(
      [](auto d)
          XLA_FFI_OPS_INLINED { return internal::SinOf<kIsFloat<V>>(d, 1); },
      x);
}

// At most 0.6 ulp for float and 2.5 for double.
template <typename V>
XLA_FFI_OPS_HD V Tan(V x) {
  return internal::OfVector(
      [](auto d)
          XLA_FFI_OPS_INLINED { return internal::TanOf<kIsFloat<V>>(d); },
      x);
}

}  // namespace xla_ffi_ops::math

#endif  // XLA_FFI_OPS_KIT_MATH_TRIGONOMETRIC_H_
