// SPDX-License-Identifier: Apache-2.0
// Sin, Cos, Tan, of arguments of any size. Those of float are computed in
// double. An argument above 2^20 takes much longer.
#ifndef XLA_FFI_OPS_VEC_MATH_TRIGONOMETRIC_H_
#define XLA_FFI_OPS_VEC_MATH_TRIGONOMETRIC_H_

#include <cstdint>

#include "xla_ffi_ops/vec/math/angle.h"
#include "xla_ffi_ops/vec/math/math_vector.h"

namespace xla_ffi_ops::math {

template <typename V>
struct SinCosOf {
  V sin, cos;
};

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

template <bool is_short, typename V>
XLA_FFI_OPS_HD SinCosOf<V> OfAngle(const Angle<V>& angle) {
  const V r = angle.r, z = r * r;
  if constexpr (is_short) {
    return {MulAdd(r * z, Polynomial(z, kShortSin), r),
            MulAdd(-z, MulAdd(-z, Polynomial(z, kShortCos), 0.5), 1.0)};
  } else {
    const V half = r * 0.5;
    const V first = MulAdd(-half, r, 1.0);
    const V lost = MulAdd(-half, r, 1 - first);
    const V turn = r * angle.low;
    const V cos = first + MulAdd(z * z, Polynomial(z, kCos), lost - turn);
    const V low = angle.low * first;
    return {r + MulAdd(r * z, Polynomial(z, kSin), low), cos};
  }
}

// Of x in double.
template <bool is_short, typename V>
XLA_FFI_OPS_HD SinCosOf<V> SinAndCos(V x) {
  const auto angle = Reduce<!is_short>(Abs(x));
  const auto both = OfAngle<is_short>(angle);
  const auto is_even = (angle.n & 1) == 0;
  const auto sign = [](Bits<V> quadrant) XLA_FFI_OPS_INLINED {
    return quadrant << 62 & kSign<V>;
  };
  const V sin = Select(is_even, both.sin, both.cos);
  const V cos = Select(is_even, both.cos, both.sin);
  return {BitCast<V>(BitsOf(sin) ^ sign(angle.n) ^ (BitsOf(x) & kSign<V>)),
          BitCast<V>(BitsOf(cos) ^ sign(angle.n + 1))};
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

// A scalar becomes a vector: it would have branches, and other bits.
using VectorOfScalar = VecOfBytes<double, 16>;

}  // namespace internal

// Both, which takes little longer than one of them. At most 0.6 ulp for float
// and 1 for double.
template <typename V>
XLA_FFI_OPS_HD SinCosOf<V> SinCos(V x) {
  constexpr bool is_float = kIsFloat<V>;
  if constexpr (kIsScalar<V>) {
    const auto both =
        internal::SinAndCos<is_float>(Splat<internal::VectorOfScalar>(x));
    return {static_cast<V>(both.sin[0]), static_cast<V>(both.cos[0])};
  } else if constexpr (is_float) {
    const auto low = internal::SinAndCos<true>(LowInDouble(x));
    const auto high = internal::SinAndCos<true>(HighInDouble(x));
    return {Rounded<V>(low.sin, high.sin), Rounded<V>(low.cos, high.cos)};
  } else {
    return internal::SinAndCos<false>(x);
  }
}
template <typename V>
XLA_FFI_OPS_HD V Sin(V x) {
  return SinCos(x).sin;
}
template <typename V>
XLA_FFI_OPS_HD V Cos(V x) {
  return SinCos(x).cos;
}

// At most 0.6 ulp for float and 2.5 for double.
template <typename V>
XLA_FFI_OPS_HD V Tan(V x) {
  const auto tan = [](auto d) XLA_FFI_OPS_INLINED {
    return internal::TanOf<kIsFloat<V>>(d);
  };
  if constexpr (kIsScalar<V>) {
    return static_cast<V>(tan(Splat<internal::VectorOfScalar>(x))[0]);
  } else {
    return InDouble(tan, x);
  }
}

}  // namespace xla_ffi_ops::math

#endif  // XLA_FFI_OPS_VEC_MATH_TRIGONOMETRIC_H_
