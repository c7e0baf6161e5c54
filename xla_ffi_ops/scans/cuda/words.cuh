// SPDX-License-Identifier: Apache-2.0
// Loads and stores of successive steps of a column, whose elements have any
// number of bytes: in registers, each is the low bits of a word.
#ifndef XLA_FFI_OPS_SCANS_CUDA_WORDS_CUH_
#define XLA_FFI_OPS_SCANS_CUDA_WORDS_CUH_

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>

#include "xla_ffi_ops/cuda/pack.cuh"
#include "xla_ffi_ops/scans/cuda/step_memory.cuh"
#include "xla_ffi_ops/vec/device.h"

namespace xla_ffi_ops::internal {

using Word = uint64_t;

// Returns fn(U()) for the unsigned type of so many bytes.
template <typename Fn>
__device__ inline auto WithUnsigned(int bytes, Fn fn) {
  switch (bytes) {
    case 1:
      return fn(uint8_t());
    case 2:
      return fn(uint16_t());
    case 4:
      return fn(uint32_t());
    default:
      return fn(uint64_t());
  }
}

__device__ inline Word LoadWord(const void* data, int bytes, int64_t i) {
  return WithUnsigned(bytes, [&](auto type) -> Word {
    return static_cast<const decltype(type)*>(data)[i];
  });
}
__device__ inline void StoreWord(void* data, int bytes, int64_t i, Word word) {
  WithUnsigned(bytes, [&](auto type) {
    static_cast<decltype(type)*>(data)[i] = static_cast<decltype(type)>(word);
  });
}

// Where the words of a column are.
struct WordSteps {
  const void* data;
  int bytes;
  int64_t n, stride;
  bool reverse;

  template <typename U>
  __device__ Steps<U> As() const {
    return {static_cast<U*>(const_cast<void*>(data)), n, stride, reverse};
  }
};

// Of the vectors of a row. There may be fewer steps than 16 bytes have.
template <typename U, int kSteps>
inline constexpr int kWordVector = kVector<U> < kSteps ? kVector<U> : kSteps;

// kSteps words as they come from memory. Whoever loads them early waits for
// them when they become words.
template <int kSteps>
struct LoadedWords {
  uint32_t bits[2 * kSteps];
};

// Loads `count` steps from `first` on, at most kSteps. `vectors` can be true if
// kRows: then the stride is 1, and vectors begin at multiples of their size.
template <bool kRows, int kSteps>
__device__ inline void LoadWords(const WordSteps& x, int64_t first, int count,
                                 bool vectors, LoadedWords<kSteps>* loaded) {
  *loaded = {};
  WithUnsigned(x.bytes, [&](auto type) {
    using U = decltype(type);
    const Steps<const U> steps = x.As<const U>();
    if constexpr (kRows) {
      constexpr int kSize = kWordVector<U, kSteps>;
      using Bits = typename Access<kSize * sizeof(U)>::Type;
      if (vectors) {
#pragma unroll
        for (int part = 0; part < kSteps; part += kSize) {
          if (part >= count) break;
          const Bits bits = __ldcs(reinterpret_cast<const Bits*>(
              steps[first + part + (x.reverse ? kSize - 1 : 0)]));
          memcpy(loaded->bits + part * sizeof(U) / 4, &bits, sizeof(bits));
        }
        return;
      }
    }
    const U* from = steps[first];
#pragma unroll
    for (int i = 0; i < kSteps; ++i, from += steps.Next()) {
      if (i >= count) continue;
      const Word word = *from;
      loaded->bits[2 * i] = static_cast<uint32_t>(word);
      loaded->bits[2 * i + 1] = static_cast<uint32_t>(word >> 32);
    }
  });
}

// What LoadWords loaded, with the same x and `vectors`.
template <bool kRows, int kSteps>
__device__ inline void ReadWords(const WordSteps& x, bool vectors,
                                 const LoadedWords<kSteps>& loaded,
                                 Word (&words)[kSteps]) {
  if constexpr (kRows) {
    if (vectors) {
      WithUnsigned(x.bytes, [&](auto type) {
        using U = decltype(type);
        constexpr int kSize = kWordVector<U, kSteps>;
#pragma unroll
        for (int part = 0; part < kSteps; part += kSize) {
          U own[kSize];
          memcpy(own, loaded.bits + part * sizeof(U) / 4, sizeof(own));
          Turn(x.reverse, own);
#pragma unroll
          for (int i = 0; i < kSize; ++i) words[part + i] = own[i];
        }
      });
      return;
    }
  }
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    words[i] = loaded.bits[2 * i] | Word{loaded.bits[2 * i + 1]} << 32;
  }
}

// Stores of kSize words at once.
template <typename U, int kSize>
__device__ inline void StoreVector(U* to, const Word (&words)[kSize]) {
  constexpr int kBytes = kSize * sizeof(U);
  using Bits = Access<kBytes>;
  uint32_t bits[kBytes / 4] = {};
  constexpr int kToAWord = sizeof(U) < 4 ? 4 / sizeof(U) : 1;
#pragma unroll
  for (int i = 0; i < kSize; ++i) {
    if constexpr (sizeof(U) == 8) {
      bits[2 * i] = static_cast<uint32_t>(words[i]);
      bits[2 * i + 1] = static_cast<uint32_t>(words[i] >> 32);
    } else {
      bits[i / kToAWord] |= uint32_t{static_cast<U>(words[i])}
                            << i % kToAWord * 8 * sizeof(U);
    }
  }
  __stwb(reinterpret_cast<typename Bits::Type*>(to), Bits::From(bits));
}

template <bool kRows, int kSteps>
__device__ inline void StoreWords(const WordSteps& y, int64_t first, int count,
                                  bool vectors, const Word (&words)[kSteps]) {
  WithUnsigned(y.bytes, [&](auto type) {
    using U = decltype(type);
    const Steps<U> steps = y.As<U>();
    if constexpr (kRows) {
      constexpr int kSize = kWordVector<U, kSteps>;
      if (vectors) {
#pragma unroll
        for (int part = 0; part < kSteps; part += kSize) {
          if (part >= count) break;
          Word own[kSize];
#pragma unroll
          for (int i = 0; i < kSize; ++i) own[i] = words[part + i];
          Turn(y.reverse, own);
          StoreVector(steps[first + part + (y.reverse ? kSize - 1 : 0)], own);
        }
        return;
      }
    }
    U* to = steps[first];
#pragma unroll
    for (int i = 0; i < kSteps; ++i, to += steps.Next()) {
      if (i < count) *to = static_cast<U>(words[i]);
    }
  });
}

// Whether all of a column's rows may be accessed by vectors.
inline bool HasWordVectors(const void* x, int bytes, int64_t n) {
  return n * bytes % kAccessBytes == 0 &&
         reinterpret_cast<uintptr_t>(x) % kAccessBytes == 0;
}

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SCANS_CUDA_WORDS_CUH_
