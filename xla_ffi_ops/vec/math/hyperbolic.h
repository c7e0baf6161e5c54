// SPDX-License-Identifier: Apache-2.0
// Hyperbolic functions and their inverses: Tanh, Sinh, Cosh, Asinh, Acosh,
// Atanh. All but Tanh are computed in double for float.
#ifndef XLA_FFI_OPS_VEC_MATH_HYPERBOLIC_H_
#define XLA_FFI_OPS_VEC_MATH_HYPERBOLIC_H_

#include "xla_ffi_ops/vec/math/exp.h"
#include "xla_ffi_ops/vec/math/log.h"
#include "xla_ffi_ops/vec/math/math_vector.h"

namespace xla_ffi_ops::math {

namespace internal {

// (tanh(x) - x) / x^3 as a polynomial of x^2, for |x| of at most 0.9.
inline constexpr float kTanh[] = {
    -0x1.55554ep-2f, 0x1.110f3ap-3f, -0x1.b9cabcp-5f, 0x1.62f5e4p-6f,
    -0x1.0ee97cp-7f, 0x1.52e5b4p-9f, -0x1.deb782p-12f};

// The largest number whose sinh and cosh are finite in double.
inline constexpr double kMostSinh = 0x1.633ce8fb9f87dp9;

}  // namespace internal

// At most 1.1 ulp for float and 2 for double.
template <typename V>
XLA_FFI_OPS_HD V Tanh(V x) {
  const V a = Abs(x);
  if constexpr (sizeof(Element<V>) == 4) {
    const V most = Splat<V>(10);  // Its tanh is rounded to 1.
    const V twice = 2 * Select(a > most, most, a);
    const auto exp = internal::SplitExp(twice);
    const V large = 1 - 2 / MulAdd(exp.scale, exp.significand, Element<V>(1));
    const V z = a * a;
    const V small = MulAdd(a * z, Polynomial(z, internal::kTanh), a);
    return WithSign(Select(a < 0.9f, small, large), x);
  } else {
    const V most = Splat<V>(20);
    const V half = 2 * internal::QuarterExpm1(2 * Select(a > most, most, a));
    const V whole = half + 1;
    const V lost = half - (whole - 1);
    const V tanh = half / whole;
    const V large = MulAdd(-tanh * lost, 1 - tanh, tanh);
    return WithSign(Select(a < Limits<V>::epsilon(), a, large), x);
  }
}

// At most 0.6 ulp for float and 2.2 for double.
template <typename V>
XLA_FFI_OPS_HD V Sinh(V x) {
  return InDouble(
      [](auto d) XLA_FFI_OPS_INLINED {
        // With h = (e^|x| - 1) / 2, it is h + h / (2 h + 1).
        using D = decltype(d);
        const D a = Abs(d), most = Splat<D>(internal::kMostSinh);
        const D half = 2 * internal::QuarterExpm1(Select(a > most, most, a));
        const D sinh = half + half / (half + half + 1);
        const D finite = Select(a > most, a + kInfinity<D>, sinh);
        return WithSign(Select(a < Limits<D>::epsilon(), a, finite), d);
      },
      x);
}

// At most 0.6 ulp for float and 1.5 for double.
template <typename V>
XLA_FFI_OPS_HD V Cosh(V x) {
  return InDouble(
      [](auto d) XLA_FFI_OPS_INLINED {
        using D = decltype(d);
        const D a = Abs(d), most = Splat<D>(internal::kMostSinh);
        const auto parts = internal::SplitExp(Select(a > most, most, a));
        // e^|x| / 2, whose scale may be infinite.
        const D half = BitCast<D>(BitsOf(parts.significand) +
                                  BitsOf(parts.scale) - BitsOf(D{} + 2));
        return Select(a <= most, half + 0.25 / half, a + kInfinity<D>);
      },
      x);
}

// At most 0.6 ulp for float and 2.5 for double.
template <typename V>
XLA_FFI_OPS_HD V Asinh(V x) {
  return InDouble(
      [](auto d) XLA_FFI_OPS_INLINED {
        // log(1 + a + a^2 / (1 + sqrt(1 + a^2))), and log(2 a) far out.
        using D = decltype(d);
        const D a = Abs(d);
        const auto is_far = a > 0x1p500;
        const D near = Select(is_far, D{}, a);
        const D square = near * near;
        const D log =
            Log1p(Select(is_far, a, near + square / (1 + Sqrt(1 + square))));
        const D far = Select(is_far, Splat<D>(0.69314718055994531), D{});
        return WithSign(log + far, d);
      },
      x);
}

// At most 0.6 ulp for float and 2.5 for double.
template <typename V>
XLA_FFI_OPS_HD V Acosh(V x) {
  return InDouble(
      [](auto d) XLA_FFI_OPS_INLINED {
        // log(1 + t + sqrt(2 t + t^2)) with t = x - 1, and log(2 x) far out.
        using D = decltype(d);
        const auto is_far = d > 0x1p500;
        const D t = Select(is_far, D{}, d - 1);
        const D log = Log1p(Select(is_far, d, t + Sqrt(t * (2 + t))));
        const D far = Select(is_far, Splat<D>(0.69314718055994531), D{});
        return Select(d < 1, Splat<D>(Limits<D>::quiet_NaN()), log + far);
      },
      x);
}

// At most 0.6 ulp for float and 2.5 for double.
template <typename V>
XLA_FFI_OPS_HD V Atanh(V x) {
  return InDouble(
      [](auto d) XLA_FFI_OPS_INLINED {
        using D = decltype(d);
        const D a = Abs(d);
        const D log = 0.5 * Log1p(2 * a / (1 - a));
        return WithSign(Select(a < Limits<D>::epsilon(), a, log), d);
      },
      x);
}

}  // namespace xla_ffi_ops::math

#endif  // XLA_FFI_OPS_VEC_MATH_HYPERBOLIC_H_
