// SPDX-License-Identifier: Apache-2.0
// What solvers of systems of equations compute with: numbers, and vectors of
// the same number of several systems.
#ifndef XLA_FFI_OPS_VEC_LANES_LANE_NUMBERS_H_
#define XLA_FFI_OPS_VEC_LANES_LANE_NUMBERS_H_

#include <cmath>
#include <complex>
#include <cstdint>
#include <type_traits>

#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/shuffles.h"
#include "xla_ffi_ops/vec/vec.h"

namespace xla_ffi_ops {
namespace internal {

// A vector may have the same element of so many systems.
template <typename T>
inline constexpr int kSystems =
    std::is_floating_point_v<T> ? 32 / sizeof(T) : 1;

// An element, or the same one of as many systems.

template <typename T, int lanes>
struct Number {
  using V = Vec<T, lanes>;
  XLA_FFI_OPS_HD static void Read(const T* x, V* v) { Load<T, lanes>(x, v); }
  XLA_FFI_OPS_HD static void Write(const V& v, T* x) { Store<T, lanes>(v, x); }
};
template <typename T>
struct Number<T, 1> {
  using V = T;
  XLA_FFI_OPS_HD static void Read(const T* x, T* v) { *v = *x; }
  XLA_FFI_OPS_HD static void Write(const T& v, T* x) { *x = v; }
};

// What pivots are chosen by.
template <typename V>
XLA_FFI_OPS_HD void Size(const V& x, V* size) {
  *size = x < 0 ? -x : x;
}
template <typename R>
XLA_FFI_OPS_HD void Size(const std::complex<R>& x, R* size) {
  *size = std::abs(x.real()) + std::abs(x.imag());
}
template <typename V>
struct SizeOf {
  using type = V;
};
template <typename R>
struct SizeOf<std::complex<R>> {
  using type = R;
};

// q / p
template <typename V>
XLA_FFI_OPS_HD void Divide(const V& q, const V& p, V* quotient) {
  *quotient = q / p;
}
// By Smith's method: without the overflow of p's square, and inlined.
template <typename R>
XLA_FFI_OPS_HD void Divide(const std::complex<R>& q, const std::complex<R>& p,
                           std::complex<R>* quotient) {
  const bool wide = std::abs(p.real()) >= std::abs(p.imag());
  const R large = wide ? p.real() : p.imag();
  const R small = wide ? p.imag() : p.real();
  const R ratio = small / large, denominator = large + small * ratio;
  const R re = wide ? q.real() : q.imag(), im = wide ? q.imag() : q.real();
  const R sign = wide ? 1 : -1;
  *quotient = {(re + im * ratio) / denominator,
               sign * (im - re * ratio) / denominator};
}

template <typename V>
XLA_FFI_OPS_HD void Multiply(const V& a, const V& b, V* product) {
  *product = a * b;
}
template <typename R>
XLA_FFI_OPS_HD void Multiply(const std::complex<R>& a, const std::complex<R>& b,
                             std::complex<R>* product) {
  *product = {a.real() * b.real() - a.imag() * b.imag(),
              a.real() * b.imag() + a.imag() * b.real()};
}

}  // namespace internal

// How many of some systems with k right-hand sides are solved at a time, at
// most. If it is one, vectors are right-hand sides: that is faster if there are
// many of these (measured up to 8 vectors of them), or few systems.
template <typename T>
int64_t SystemsAtOnce(int64_t systems, int64_t k) {
  constexpr int64_t kLanes = internal::kSystems<T>;
  const bool fills = k < kLanes || 2 * systems > kLanes;
  return fills && k <= 8 * kLanes ? kLanes : 1;
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_VEC_LANES_LANE_NUMBERS_H_
