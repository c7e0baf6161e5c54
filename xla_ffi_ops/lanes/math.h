// SPDX-License-Identifier: Apache-2.0
// Elementary functions of vectors of lanes.
#ifndef XLA_FFI_OPS_LANES_MATH_H_
#define XLA_FFI_OPS_LANES_MATH_H_

#include <cmath>

#include "xla_ffi_ops/kit/device.h"
#include "xla_ffi_ops/lanes/vectors.h"

namespace xla_ffi_ops::lanes {

#define XLA_FFI_OPS_PER_LANE(Name, function)                             \
  template <typename V>                                                  \
  XLA_FFI_OPS_HD V Name(V x) {                                           \
    return PerLane<V>(                                                   \
        [](Element<V> e) XLA_FFI_OPS_INLINED { return function(e); }, x); \
  }
XLA_FFI_OPS_PER_LANE(Acos, std::acos)
XLA_FFI_OPS_PER_LANE(Acosh, std::acosh)
XLA_FFI_OPS_PER_LANE(Asin, std::asin)
XLA_FFI_OPS_PER_LANE(Asinh, std::asinh)
XLA_FFI_OPS_PER_LANE(Atan, std::atan)
XLA_FFI_OPS_PER_LANE(Atanh, std::atanh)
XLA_FFI_OPS_PER_LANE(Cbrt, std::cbrt)
XLA_FFI_OPS_PER_LANE(Ceil, std::ceil)
XLA_FFI_OPS_PER_LANE(Cos, std::cos)
XLA_FFI_OPS_PER_LANE(Cosh, std::cosh)
XLA_FFI_OPS_PER_LANE(Erf, std::erf)
XLA_FFI_OPS_PER_LANE(Erfc, std::erfc)
XLA_FFI_OPS_PER_LANE(Exp, std::exp)
XLA_FFI_OPS_PER_LANE(Exp2, std::exp2)
XLA_FFI_OPS_PER_LANE(Expm1, std::expm1)
XLA_FFI_OPS_PER_LANE(Floor, std::floor)
XLA_FFI_OPS_PER_LANE(Log, std::log)
XLA_FFI_OPS_PER_LANE(Log1p, std::log1p)
XLA_FFI_OPS_PER_LANE(RoundAway, std::round)
XLA_FFI_OPS_PER_LANE(RoundToEven, std::nearbyint)
XLA_FFI_OPS_PER_LANE(Sin, std::sin)
XLA_FFI_OPS_PER_LANE(Sinh, std::sinh)
XLA_FFI_OPS_PER_LANE(Sqrt, std::sqrt)
XLA_FFI_OPS_PER_LANE(Tan, std::tan)
XLA_FFI_OPS_PER_LANE(Tanh, std::tanh)
#undef XLA_FFI_OPS_PER_LANE

#define XLA_FFI_OPS_PER_LANE(Name, function)     \
  template <typename V>                          \
  XLA_FFI_OPS_HD V Name(V x, V y) {              \
    return PerLane<V>(                           \
        [](Element<V> a, Element<V> b)           \
            XLA_FFI_OPS_INLINED { return function(a, b); }, \
        x, y);                                   \
  }
XLA_FFI_OPS_PER_LANE(Atan2, std::atan2)
XLA_FFI_OPS_PER_LANE(NextAfter, std::nextafter)
XLA_FFI_OPS_PER_LANE(Pow, std::pow)
#undef XLA_FFI_OPS_PER_LANE

namespace internal {

// The inverse of erf: Winitzki's formula, and Newton's steps from there.
inline double ErfInv(double y) {
  if (!(std::abs(y) < 1)) return y / (1 - std::abs(y));  // Infinite, or NaN.
  const double pi = 3.14159265358979323846, a = 0.147;
  const double log = std::log1p(-y * y), b = 2 / (pi * a) + log / 2;
  double x = std::copysign(std::sqrt(std::sqrt(b * b - log / a) - b), y);
  for (int i = 0; i < 3; ++i) {
    // Near 1, erfc keeps the bits that erf has lost.
    const double beyond = y > 0.5    ? (1 - y) - std::erfc(x)
                          : y < -0.5 ? std::erfc(-x) - (1 + y)
                                     : std::erf(x) - y;
    x -= beyond * std::sqrt(pi) / 2 * std::exp(x * x);
  }
  return x;
}

}  // namespace internal

template <typename V>
XLA_FFI_OPS_HD V ErfInv(V x) {
  using E = Element<V>;
  return PerLane<V>(
      [](E e) XLA_FFI_OPS_INLINED {
        return static_cast<E>(internal::ErfInv(static_cast<double>(e)));
      },
      x);
}

template <typename V>
XLA_FFI_OPS_HD V Rsqrt(V x) {
  return Splat<V>(Element<V>(1)) / Sqrt(x);
}
template <typename V>
XLA_FFI_OPS_HD V Logistic(V x) {
  const V one = Splat<V>(Element<V>(1));
  return one / (one + Exp(-x));
}

}  // namespace xla_ffi_ops::lanes

#endif  // XLA_FFI_OPS_LANES_MATH_H_
