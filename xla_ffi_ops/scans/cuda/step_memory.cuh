// SPDX-License-Identifier: Apache-2.0
// Loads and stores of successive steps of a column.
#ifndef XLA_FFI_OPS_SCANS_CUDA_STEP_MEMORY_CUH_
#define XLA_FFI_OPS_SCANS_CUDA_STEP_MEMORY_CUH_

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
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

// kSteps elements as they come from memory. Whoever loads them early waits for
// them when they are read.
template <typename T, int kSteps>
struct LoadedSteps {
  static constexpr int kWords = sizeof(T) < 4 ? 1 : sizeof(T) / 4;

  uint32_t bits[kSteps * kWords];
};

// Loads `count` steps from `first` on, at most kSteps. `vectors` can be true if
// kRows: then the stride is 1, and vectors begin at multiples of their size.
template <bool kRows, int kSteps, typename T>
__device__ inline void LoadSteps(const Steps<const T>& x, int64_t first,
                                 int count, bool vectors,
                                 LoadedSteps<T, kSteps>* loaded) {
  if constexpr (kRows && kHasVectors<T>) {
    if (vectors) {
      constexpr int kSize = kVector<T>;
#pragma unroll
      for (int part = 0; part < kSteps; part += kSize) {
        if (part >= count) break;
        const uint4 bits = __ldcs(reinterpret_cast<const uint4*>(
            x[first + part + (x.reverse ? kSize - 1 : 0)]));
        memcpy(loaded->bits + part * sizeof(T) / 4, &bits, sizeof(bits));
      }
      return;
    }
  }
  const T* from = x[first];
#pragma unroll
  for (int i = 0; i < kSteps; ++i, from += x.Next()) {
    if (i >= count) continue;
    if constexpr (sizeof(T) == 2) {
      loaded->bits[i] = DeviceBitCast<uint16_t>(*from);
    } else {
      const T value = *from;
      memcpy(loaded->bits + i * LoadedSteps<T, kSteps>::kWords, &value,
             sizeof(T));
    }
  }
}

// The elements that LoadSteps loaded, with the same `vectors`.
template <bool kRows, typename T, int kSteps, typename E>
__device__ inline void ReadSteps(const LoadedSteps<T, kSteps>& loaded,
                                 bool reverse, bool vectors,
                                 E (&values)[kSteps]) {
  if constexpr (kRows && kHasVectors<T>) {
    if (vectors) {
      constexpr int kSize = kVector<T>;
#pragma unroll
      for (int part = 0; part < kSteps; part += kSize) {
        T elements[kSize];
        memcpy(elements, loaded.bits + part * sizeof(T) / 4, sizeof(elements));
        E own[kSize];
#pragma unroll
        for (int i = 0; i < kSize; ++i) own[i] = ToElement(elements[i]);
        Turn(reverse, own);
#pragma unroll
        for (int i = 0; i < kSize; ++i) values[part + i] = own[i];
      }
      return;
    }
  }
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    T element;
    memcpy(&element, loaded.bits + i * LoadedSteps<T, kSteps>::kWords,
           sizeof(T));
    values[i] = ToElement(element);
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
