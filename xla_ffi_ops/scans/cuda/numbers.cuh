// SPDX-License-Identifier: Apache-2.0
// The numbers that scans compute with on a CUDA device, real and complex.
#ifndef XLA_FFI_OPS_SCANS_CUDA_NUMBERS_CUH_
#define XLA_FFI_OPS_SCANS_CUDA_NUMBERS_CUH_

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "xla_ffi_ops/vec/convert.cuh"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/float16.h"

namespace xla_ffi_ops {

// In memory like a std::complex, whose functions are for the host.
template <typename R>
struct DeviceComplex {
  R re, im;
};

namespace internal {

// What elements of T are computed in, and what products of many are.
template <typename T>
struct ElementTypes {
  using Element = Accumulator<T>;
  using Wide = double;
};
template <typename R>
struct ElementTypes<DeviceComplex<R>> {
  using Element = DeviceComplex<R>;
  using Wide = DeviceComplex<double>;
};

template <typename T>
__device__ inline auto ToElement(T x) {
  return Widen(x);
}
template <typename R>
__device__ inline DeviceComplex<R> ToElement(DeviceComplex<R> x) {
  return x;
}

template <typename T, typename E>
__device__ inline T FromElement(E x) {
  if constexpr (std::is_same_v<T, E>) {
    return x;
  } else {
    return RoundTo<T>(x);
  }
}

// Conversions from and to a Wide.
template <typename To>
__device__ inline To Converted(double x, To) {
  return static_cast<To>(x);
}
template <typename R, typename From>
__device__ inline DeviceComplex<R> Converted(DeviceComplex<From> x,
                                             DeviceComplex<R>) {
  return {static_cast<R>(x.re), static_cast<R>(x.im)};
}
template <typename To, typename From>
__device__ inline To ConvertTo(From x) {
  return Converted(x, To());
}

// 1, in the type of the argument.
template <typename R>
__device__ inline R One(R) {
  return 1;
}
template <typename R>
__device__ inline DeviceComplex<R> One(DeviceComplex<R>) {
  return {1, 0};
}

template <typename E>
__device__ inline E Multiplied(E x, E y) {
  return x * y;
}
template <typename R>
__device__ inline DeviceComplex<R> Multiplied(DeviceComplex<R> x,
                                              DeviceComplex<R> y) {
  return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}

// a h + b.
template <typename E>
__device__ inline E MulAdd(E a, E h, E b) {
  return a * h + b;
}
template <typename R>
__device__ inline DeviceComplex<R> MulAdd(DeviceComplex<R> a,
                                          DeviceComplex<R> h,
                                          DeviceComplex<R> b) {
  return {a.re * h.re - a.im * h.im + b.re, a.re * h.im + a.im * h.re + b.im};
}

template <typename E>
__device__ inline bool IsFinite(E x) {
  return x - x == 0;
}
template <typename R>
__device__ inline bool IsFinite(DeviceComplex<R> x) {
  return IsFinite(x.re) && IsFinite(x.im);
}
template <typename E>
__device__ inline bool IsNan(E x) {
  return x != x;
}
template <typename R>
__device__ inline bool IsNan(DeviceComplex<R> x) {
  return IsNan(x.re) || IsNan(x.im);
}

// Whether they are equal, or both NaN.
template <typename E>
__device__ inline bool AreSame(E x, E y) {
  return x == y || (x != x && y != y);
}
template <typename R>
__device__ inline bool AreSame(DeviceComplex<R> x, DeviceComplex<R> y) {
  return AreSame(x.re, y.re) && AreSame(x.im, y.im);
}

__device__ inline double ShuffleNumber(double x, int mask) {
  return __shfl_xor_sync(0xffffffffu, x, mask);
}
__device__ inline DeviceComplex<double> ShuffleNumber(DeviceComplex<double> x,
                                                      int mask) {
  return {ShuffleNumber(x.re, mask), ShuffleNumber(x.im, mask)};
}

// x 2^e. (ldexp takes more registers.)
__device__ inline double Scaled(double x, int64_t e) {
  constexpr int64_t kMost = 2100;  // takes any x out of the range of double
  const int power =
      static_cast<int>(e > kMost ? kMost : (e < -kMost ? -kMost : e));
  const int third = power / 3;
  const auto two_to_the = [](int64_t part) {
    return DeviceBitCast<double>((1023 + part) << 52);
  };
  const double some = two_to_the(third);
  return x * some * some * two_to_the(power - 2 * third);
}

}  // namespace internal
}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_SCANS_CUDA_NUMBERS_CUH_
