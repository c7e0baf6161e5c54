// SPDX-License-Identifier: Apache-2.0
// What kernels of small matrices compute with: V is float, double, a vector of
// them whose lanes are matrices of their own, or Complex of one of these.
//
// A kernel's matrix is an array of V by rows. Its steps do not depend on how
// many lanes V has, so a matrix has the same bits in any lane, and alone.
#ifndef XLA_FFI_OPS_LINALG_NUMBER_H_
#define XLA_FFI_OPS_LINALG_NUMBER_H_

#include <cstdint>
#include <limits>
#include <type_traits>

#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/math/math_vector.h"

namespace xla_ffi_ops::linalg {

using math::Any;
using math::Element;
using math::kLanesOf;
using math::Splat;
using math::Sqrt;

template <typename V>
struct Complex {
  V re, im;
};

template <typename V>
inline constexpr bool kIsComplex = false;
template <typename V>
inline constexpr bool kIsComplex<Complex<V>> = true;

template <typename V>
struct RealOf {
  using type = V;
};
template <typename V>
struct RealOf<Complex<V>> {
  using type = V;
};
template <typename V>
using Real = typename RealOf<V>::type;

// Facts of the numbers of V.
template <typename V>
using Limits = std::numeric_limits<Element<Real<V>>>;

template <typename V>
XLA_FFI_OPS_HD Complex<V> operator+(Complex<V> a, Complex<V> b) {
  return {a.re + b.re, a.im + b.im};
}
template <typename V>
XLA_FFI_OPS_HD Complex<V> operator-(Complex<V> a, Complex<V> b) {
  return {a.re - b.re, a.im - b.im};
}
template <typename V>
XLA_FFI_OPS_HD Complex<V> operator-(Complex<V> a) {
  return {-a.re, -a.im};
}

// a * b + c and c - a * b, with as few roundings as there are instructions.
template <typename V>
XLA_FFI_OPS_HD V MulAdd(V a, V b, V c) {
  return math::MulAdd(a, b, c);
}
template <typename V>
XLA_FFI_OPS_HD Complex<V> MulAdd(Complex<V> a, Complex<V> b, Complex<V> c) {
  return {MulAdd(a.re, b.re, MulAdd(V(-a.im), b.im, c.re)),
          MulAdd(a.re, b.im, MulAdd(a.im, b.re, c.im))};
}
template <typename V>
XLA_FFI_OPS_HD V MulSub(V a, V b, V c) {
  return MulAdd(V(-a), b, c);
}

// a * b, and x by a real number.
template <typename V>
XLA_FFI_OPS_HD V Times(V a, V b) {
  if constexpr (kIsComplex<V>) {
    return MulAdd(a, b, V{});
  } else {
    return a * b;
  }
}
template <typename V>
XLA_FFI_OPS_HD V Scaled(V x, Real<V> by) {
  if constexpr (kIsComplex<V>) {
    return {x.re * by, x.im * by};
  } else {
    return x * by;
  }
}

// A real number as V.
template <typename V>
XLA_FFI_OPS_HD V FromReal(Real<V> x) {
  if constexpr (kIsComplex<V>) {
    return {x, x - x};  // NaN if x is.
  } else {
    return x;
  }
}

template <typename V>
XLA_FFI_OPS_HD V Conj(V x) {
  if constexpr (kIsComplex<V>) {
    return {x.re, -x.im};
  } else {
    return x;
  }
}
// Conjugates n numbers in place.
template <typename V>
XLA_FFI_OPS_HD void Conjugate(int64_t n, V* x) {
  for (int64_t i = 0; kIsComplex<V> && i < n; ++i) x[i] = Conj(x[i]);
}

template <typename V>
XLA_FFI_OPS_HD Real<V> RealPart(V x) {
  if constexpr (kIsComplex<V>) {
    return x.re;
  } else {
    return x;
  }
}

// |x|^2, and a size that pivots are chosen by: |re| + |im|, as LAPACK has it.
template <typename V>
XLA_FFI_OPS_HD Real<V> Squared(V x) {
  if constexpr (kIsComplex<V>) {
    return MulAdd(x.re, x.re, Real<V>(x.im * x.im));
  } else {
    return x * x;
  }
}
template <typename V>
XLA_FFI_OPS_HD Real<V> Size(V x) {
  if constexpr (kIsComplex<V>) {
    return math::Abs(x.re) + math::Abs(x.im);
  } else {
    return math::Abs(x);
  }
}

template <typename Mask, typename V>
XLA_FFI_OPS_HD V Select(Mask mask, V a, V b) {
  if constexpr (kIsComplex<V>) {
    return {Select(mask, a.re, b.re), Select(mask, a.im, b.im)};
  } else {
    return math::Select(mask, a, b);
  }
}

// All bits of the lanes for which a mask holds, as integers; and x there, 0
// elsewhere. For masks that are used often: such a mask stays what it is in
// vectors of any size.
template <typename R, typename Mask>
XLA_FFI_OPS_HD math::Bits<R> BitsOf(Mask mask) {
  using B = math::Bits<R>;
  return Select(mask, math::Opaque(B(~B{})), B{});
}
template <typename V, typename B>
XLA_FFI_OPS_HD V Where(B bits, V x) {
  if constexpr (kIsComplex<V>) {
    return {Where(bits, x.re), Where(bits, x.im)};
  } else {
    return math::BitCast<V>(math::BitsOf(x) & bits);
  }
}
template <typename V>
XLA_FFI_OPS_HD V Or(V a, V b) {
  if constexpr (kIsComplex<V>) {
    return {Or(a.re, b.re), Or(a.im, b.im)};
  } else {
    return math::BitCast<V>(math::BitsOf(a) | math::BitsOf(b));
  }
}

// a where bits are set, b elsewhere.
template <typename V, typename B>
XLA_FFI_OPS_HD V Choose(B bits, V a, V b) {
  return Or(Where(bits, a), Where(B(~bits), b));
}

// 1 / x. Of complex numbers by Smith's method: their squares would overflow.
template <typename V>
XLA_FFI_OPS_HD V Reciprocal(V x) {
  if constexpr (kIsComplex<V>) {
    using R = Real<V>;
    const auto is_wide = math::Abs(x.re) >= math::Abs(x.im);
    const R large = Select(is_wide, x.re, x.im);
    const R ratio = Select(is_wide, x.im, x.re) / large;
    const R part = 1 / MulAdd(Select(is_wide, x.im, x.re), ratio, large);
    const R other = part * ratio;
    return {Select(is_wide, part, other), -Select(is_wide, other, part)};
  } else {
    return 1 / x;
  }
}

// A size that is known when a kernel is compiled converts to int64_t, too, so
// that kernels take either; loops over it are unrolled.
template <int64_t n>
using Fixed = std::integral_constant<int64_t, n>;

// Calls body(n), with a Fixed n if there is one of `sizes`.
template <int64_t... sizes, typename Body>
XLA_FFI_OPS_HD void AtSize(int64_t n, const Body& body) {
  const bool found = ((n == sizes && (body(Fixed<sizes>()), true)) || ...);
  if (!found) body(n);
}

// The same for the rows of a matrix of V. Of more rows, loops cost little; of
// complex numbers, too, which have four times as much to compute. The oldest
// processors, with vectors of 16 bytes, get less code.
template <typename V, typename Body>
XLA_FFI_OPS_HD void AtRows(int64_t n, const Body& body) {
  if constexpr (kIsComplex<V> || sizeof(V) == kVectorBytes<1>) {
    body(n);
  } else {
    AtSize<2, 3, 4>(n, body);
  }
}

}  // namespace xla_ffi_ops::linalg

#endif  // XLA_FFI_OPS_LINALG_NUMBER_H_
