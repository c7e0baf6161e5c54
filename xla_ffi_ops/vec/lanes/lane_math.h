// SPDX-License-Identifier: Apache-2.0
// Elementary functions of lanes: those of vec/math, and others one by one.
#ifndef XLA_FFI_OPS_VEC_LANES_LANE_MATH_H_
#define XLA_FFI_OPS_VEC_LANES_LANE_MATH_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/lanes/lanes.h"
#include "xla_ffi_ops/vec/math/bessel.h"
#include "xla_ffi_ops/vec/math/erf.h"
#include "xla_ffi_ops/vec/math/exp.h"
#include "xla_ffi_ops/vec/math/gamma.h"
#include "xla_ffi_ops/vec/math/hyperbolic.h"
#include "xla_ffi_ops/vec/math/inverse_trigonometric.h"
#include "xla_ffi_ops/vec/math/log.h"
#include "xla_ffi_ops/vec/math/pow.h"
#include "xla_ffi_ops/vec/math/roots.h"
#include "xla_ffi_ops/vec/math/trigonometric.h"

namespace xla_ffi_ops::lanes {

using math::Acos;
using math::Acosh;
using math::Asin;
using math::Asinh;
using math::Atan;
using math::Atan2;
using math::Atanh;
using math::BesselI0e;
using math::BesselI1e;
using math::Cbrt;
using math::Cosh;
using math::Digamma;
using math::Erf;
using math::Erfc;
using math::ErfInv;
using math::Exp;
using math::Exp2;
using math::Expm1;
using math::Igamma;
using math::Igammac;
using math::IgammaGradA;
using math::Lgamma;
using math::Log;
using math::Log1p;
using math::Logistic;
using math::MulAdd;
using math::Pow;
using math::Rsqrt;
using math::Sinh;
using math::Sqrt;
using math::Tan;
using math::Tanh;
using math::Zeta;

// Sines and cosines of n elements; one of the two may be nullptr. Scalars are
// computed in vectors.
template <typename T, typename Sin, typename Cos>
XLA_FFI_OPS_HD void SinCos(int64_t n, const T* x, Sin sin, Cos cos) {
  constexpr bool has_sin = !std::is_null_pointer_v<Sin>;
  constexpr bool has_cos = !std::is_null_pointer_v<Cos>;
  constexpr int64_t kLanes = 32 / sizeof(Element<T>);
  if (!kIsScalar<T> || n <= 2) {
    for (int64_t i = 0; i < n; ++i) {
      const auto both = math::SinCos(x[i]);
      if constexpr (has_sin) sin[i] = both.sin;
      if constexpr (has_cos) cos[i] = both.cos;
    }
    return;
  }
  const size_t bytes = std::min(n, kLanes) * sizeof(T);
  for (int64_t i = 0; i < n; i += kLanes) {
    // The last vector begins before the end of the one before it.
    const int64_t at = std::max<int64_t>(0, std::min(i, n - kLanes));
    Vector<Element<T>, kLanes> part{};
    std::memcpy(&part, x + at, bytes);
    const auto both = math::SinCos(part);
    if constexpr (has_sin) std::memcpy(sin + at, &both.sin, bytes);
    if constexpr (has_cos) std::memcpy(cos + at, &both.cos, bytes);
  }
}

#define XLA_FFI_OPS_PER_LANE(Name, function)                              \
  template <typename V>                                                   \
  XLA_FFI_OPS_HD V Name(V x) {                                            \
    return PerLane<V>(                                                    \
        [](Element<V> e) XLA_FFI_OPS_INLINED { return function(e); }, x); \
  }
XLA_FFI_OPS_PER_LANE(Ceil, std::ceil)
XLA_FFI_OPS_PER_LANE(Floor, std::floor)
XLA_FFI_OPS_PER_LANE(RoundAway, std::round)
XLA_FFI_OPS_PER_LANE(RoundToEven, std::nearbyint)
#undef XLA_FFI_OPS_PER_LANE

template <typename V>
XLA_FFI_OPS_HD V NextAfter(V x, V y) {
  return PerLane<V>([](Element<V> a, Element<V> b)
                        XLA_FFI_OPS_INLINED { return std::nextafter(a, b); },
                    x, y);
}

}  // namespace xla_ffi_ops::lanes

#endif  // XLA_FFI_OPS_VEC_LANES_LANE_MATH_H_
