// SPDX-License-Identifier: Apache-2.0
// Loads and stores of successive steps of a column.
#ifndef XLA_FFI_OPS_SCANS_CUDA_STEP_MEMORY_CUH_
#define XLA_FFI_OPS_SCANS_CUDA_STEP_MEMORY_CUH_

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "xla_ffi_ops/cuda/pack.cuh"
#include "xla_ffi_ops/scans/cuda/numbers.cuh"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/float16.h"

namespace xla_ffi_ops::internal {

// The steps of a column: n elements, `stride` apart, from the last one on if
// `reverse`. A stride of 0 is one element for all steps.
template <typename T>
struct Steps {
  T* data;
  int64_t n, stride;
  bool reverse;

  __device__ T* operator[](int64_t i) const {
    return data + (reverse ? n - 1 - i : i) * stride;
  }
  // From a step to the next one.
  __device__ int64_t Next() const { return reverse ? -stride : stride; }
};

// Reverses the order of values.
template <int kSize, typename E>
__device__ inline void Turn(bool reverse, E (&values)[kSize]) {
#pragma unroll
  for (int i = 0; i < kSize / 2; ++i) {
    const E low = values[i], high = values[kSize - 1 - i];
    values[i] = reverse ? high : low;
    values[kSize - 1 - i] = reverse ? low : high;
  }
}

template <int kSteps, typename T, typename E>
__device__ inline void LoadVectors(const Steps<const T>& x, int64_t first,
                                   int count, E (&values)[kSteps]) {
  constexpr int kSize = kVector<T>;
#pragma unroll
  for (int part = 0; part < kSteps; part += kSize) {
    if (part >= count) break;
    Pack<T, kSize> pack;
    pack.LoadOnce(x[first + part + (x.reverse ? kSize - 1 : 0)]);
    E own[kSize];
#pragma unroll
    for (int i = 0; i < kSize; ++i) own[i] = pack[i];
    Turn(x.reverse, own);
#pragma unroll
    for (int i = 0; i < kSize; ++i) values[part + i] = own[i];
  }
}

template <int kSteps, typename T, typename E>
__device__ inline void StoreVectors(const Steps<T>& y, int64_t first, int count,
                                    const E (&values)[kSteps]) {
  constexpr int kSize = kVector<T>;
#pragma unroll
  for (int part = 0; part < kSteps; part += kSize) {
    if (part >= count) break;
    E own[kSize];
#pragma unroll
    for (int i = 0; i < kSize; ++i) own[i] = values[part + i];
    Turn(y.reverse, own);
    Pack<T, kSize> pack;
    pack.Round(own);
    pack.Store(y[first + part + (y.reverse ? kSize - 1 : 0)]);
  }
}

// Whether elements are ever accessed by vectors.
template <typename T>
inline constexpr bool kHasVectors =
    std::is_floating_point_v<T> || kIs16BitFloat<T>;

// Loads `count` steps from `first` on, at most kSteps. `vectors` can be true if
// kRows: then the stride is 1, and vectors begin at multiples of their size.
template <bool kRows, int kSteps, typename T, typename E>
__device__ inline void LoadSteps(const Steps<const T>& x, int64_t first,
                                 int count, bool vectors, E (&values)[kSteps]) {
  if constexpr (kRows && kHasVectors<T>) {
    if (vectors) return LoadVectors(x, first, count, values);
  }
  const T* from = x[first];
#pragma unroll
  for (int i = 0; i < kSteps; ++i, from += x.Next()) {
    if (i < count) values[i] = ToElement(*from);
  }
}

template <bool kRows, int kSteps, typename T, typename E>
__device__ inline void StoreSteps(const Steps<T>& y, int64_t first, int count,
                                  bool vectors, const E (&values)[kSteps]) {
  if constexpr (kRows && kHasVectors<T>) {
    if (vectors) return StoreVectors(y, first, count, values);
  }
  T* to = y[first];
#pragma unroll
  for (int i = 0; i < kSteps; ++i, to += y.Next()) {
    if (i < count) *to = FromElement<T>(values[i]);
  }
}

// Whether all of a column's rows may be accessed by vectors.
template <typename T>
bool HasVectors(const T* x, int64_t n) {
  return kHasVectors<T> && n % kVector<T> == 0 &&
         reinterpret_cast<uintptr_t>(x) % kAccessBytes == 0;
}

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SCANS_CUDA_STEP_MEMORY_CUH_
