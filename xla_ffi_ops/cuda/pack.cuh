// SPDX-License-Identifier: Apache-2.0
// Loads and stores of several elements at once.
#ifndef XLA_FFI_OPS_CUDA_PACK_CUH_
#define XLA_FFI_OPS_CUDA_PACK_CUH_

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "xla_ffi_ops/vec/convert.cuh"
#include "xla_ffi_ops/vec/float16.h"

namespace xla_ffi_ops {

// The largest access of a thread: a vector.
inline constexpr int kAccessBytes = 16;

// How many elements a vector has.
template <typename T>
inline constexpr int kVector = kAccessBytes / sizeof(T);

namespace internal {

// What kBytes are accessed as.
template <int kBytes>
struct Access;
template <>
struct Access<2> {
  using Type = unsigned short;
  static __device__ Type From(const uint32_t* words) { return words[0]; }
};
template <>
struct Access<4> {
  using Type = unsigned int;
  static __device__ Type From(const uint32_t* words) { return words[0]; }
};
template <>
struct Access<8> {
  using Type = uint2;
  static __device__ Type From(const uint32_t* words) {
    return make_uint2(words[0], words[1]);
  }
};
template <>
struct Access<16> {
  using Type = uint4;
  static __device__ Type From(const uint32_t* words) {
    return make_uint4(words[0], words[1], words[2], words[3]);
  }
};

}  // namespace internal

// kSize elements of type T in registers, as they are in global memory: 16-bit
// elements are two to a register.
template <typename T, int kSize>
class Pack {
 public:
  static constexpr int kBytes = kSize * sizeof(T);
  using Access = typename internal::Access<kBytes>::Type;

  __device__ void Clear() {
    for (int i = 0; i < kWords; ++i) words_[i] = 0;
  }

  __device__ void Load(const T* from) {
    Set(*reinterpret_cast<const Access*>(from));
  }

  // Loads what is not going to be read again, so that it does not displace what
  // is, such as a weight, from the caches.
  __device__ void LoadOnce(const T* from) {
    Set(__ldcs(reinterpret_cast<const Access*>(from)));
  }

  __device__ void Store(T* to) const {
    // An assignment would sometimes be compiled to several stores.
    __stwb(reinterpret_cast<Access*>(to),
           internal::Access<kBytes>::From(words_));
  }

  __device__ Accumulator<T> operator[](int i) const {
    if constexpr (std::is_same_v<T, BFloat16>) {
      // The upper half of a float, by one instruction.
      const uint32_t word = words_[i / 2];
      return internal::DeviceBitCast<float>(i % 2 == 0 ? word << 16
                                                       : word & 0xffff0000u);
    } else {
      T element;
      if constexpr (kTwoToAWord) {
        const uint16_t bits = words_[i / 2] >> i % 2 * 16;
        memcpy(&element, &bits, sizeof(T));
      } else {
        memcpy(&element, words_ + i * (sizeof(T) / 4), sizeof(T));
      }
      return internal::Widen(element);
    }
  }

  __device__ void Set(int i, T element) {
    static_assert(sizeof(T) >= 4);
    memcpy(words_ + i * (sizeof(T) / 4), &element, sizeof(T));
  }

  // Rounds each value once.
  template <typename From>
  __device__ void Round(const From (&values)[kSize]) {
    if constexpr (kIs16BitFloat<T> && kSize > 1) {
      for (int i = 0; i < kSize / 2; ++i) {
        words_[i] = internal::RoundPair(values[2 * i], values[2 * i + 1], T());
      }
    } else {
      for (int i = 0; i < kSize; ++i) {
        const T element = RoundTo<T>(values[i]);
        memcpy(words_ + i * sizeof(T) / 4, &element, sizeof(T));
      }
    }
  }

  // Has the compiler convert the elements anew when they are next used: to keep
  // the converted ones would take twice as many registers.
  __device__ void Reconvert() {
    if constexpr (kIs16BitFloat<T>) {
      for (int i = 0; i < kWords; ++i) asm volatile("" : "+r"(words_[i]));
    }
  }

 private:
  static constexpr int kWords = (kBytes + 3) / 4;
  static constexpr bool kTwoToAWord = sizeof(T) == 2;

  __device__ void Set(Access access) { memcpy(words_, &access, kBytes); }

  uint32_t words_[kWords];
};

// Converts kSize elements of global memory, which are accessed 16 bytes at a
// time or, if kSize is 1, one at a time.
template <int kSize, typename From, typename To>
__device__ inline void LoadValues(const From* from, To (&values)[kSize]) {
  constexpr int kPart = kSize < kVector<From> ? kSize : kVector<From>;
  for (int begin = 0; begin < kSize; begin += kPart) {
    Pack<From, kPart> pack;
    pack.Load(from + begin);
    for (int i = 0; i < kPart; ++i) values[begin + i] = pack[i];
  }
}

template <int kSize, typename From, typename To>
__device__ inline void StoreValues(const From (&values)[kSize], To* to) {
  constexpr int kPart = kSize < kVector<To> ? kSize : kVector<To>;
  for (int begin = 0; begin < kSize; begin += kPart) {
    From part[kPart];
    for (int i = 0; i < kPart; ++i) part[i] = values[begin + i];
    Pack<To, kPart> pack;
    pack.Round(part);
    pack.Store(to + begin);
  }
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_CUDA_PACK_CUH_
