// SPDX-License-Identifier: Apache-2.0
// Running maxima and minima of numbers of any dtype.
#ifndef XLA_FFI_OPS_SCANS_CUDA_EXTREMUM_SCAN_CUH_
#define XLA_FFI_OPS_SCANS_CUDA_EXTREMUM_SCAN_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "xla_ffi_ops/scans/cuda/number_scan.cuh"
#include "xla_ffi_ops/scans/cuda/words.cuh"
#include "xla_ffi_ops/scans/scan_call.h"
#include "xla_ffi_ops/vec/device.h"

namespace xla_ffi_ops::internal {

// Numbers as integers in the same order, or in reverse. NaN, of either sign, is
// the largest of these.
template <bool kReverse>
struct OrderedNumbers {
  using Number = int64_t;
  static constexpr int64_t kMost = INT64_MAX;

  NumberFormat format;
  int shift;                 // moves an element to the highest bits
  int64_t flipped = 0;       // the sign, of integers that have none
  int64_t magnitude = 0;     // all bits but the sign, of what has one
  int64_t infinity = kMost;  // magnitudes above this are NaN

  explicit OrderedNumbers(NumberFormat of)
      : format(of), shift(64 - 8 * of.bytes) {
    if (of.kind == NumberFormat::kUnsigned) flipped = ~kMost;
    if (!IsFloat(of)) return;
    magnitude = kMost;
    const bool is_half = of.kind == NumberFormat::kFloat && of.bytes == 2;
    const int exponent_bits = of.bytes == 8 ? 11 : (is_half ? 5 : 8);
    infinity &= ~(kMost >> exponent_bits);
  }

  template <int kSize>
  __device__ void Decode(const Word (&words)[kSize],
                         int64_t (&numbers)[kSize]) const {
#pragma unroll
    for (int i = 0; i < kSize; ++i) numbers[i] = FromElement(words[i]);
  }
  template <int kSize>
  __device__ void Encode(const int64_t (&numbers)[kSize],
                         Word (&words)[kSize]) const {
#pragma unroll
    for (int i = 0; i < kSize; ++i) words[i] = ToElement(numbers[i]);
  }
  __device__ int64_t Start(const void* starts, int64_t i) const {
    return FromElement(LoadWord(starts, format.bytes, i));
  }
  __device__ void SetTotal(void* totals, int64_t i, int64_t total) const {
    StoreWord(totals, format.bytes, i, ToElement(total));
  }

 private:
  __device__ int64_t FromElement(Word word) const {
    const int64_t bits = static_cast<int64_t>(word << shift) ^ flipped;
    const int64_t key = Turned(bits);
    return (bits & kMost) > infinity ? kMost : (kReverse ? ~key : key);
  }
  __device__ Word ToElement(int64_t number) const {
    const int64_t bits = Turned(kReverse ? ~number : number) ^ flipped;
    return static_cast<Word>(bits) >> shift;
  }
  // Floating-point numbers below zero go down where their magnitudes go up.
  __device__ int64_t Turned(int64_t bits) const {
    return bits ^ (bits >> 63 & magnitude);
  }
};

struct Larger {
  template <typename N>
  static __device__ N Identity() {
    return INT64_MIN;
  }
  template <typename N>
  __device__ N operator()(N sooner, N later) const {
    return sooner < later ? later : sooner;
  }
};

// Of Extremum<kMax>.
template <bool kMax>
using ExtremumOp = NumberOp<OrderedNumbers<!kMax>, Larger>;

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SCANS_CUDA_EXTREMUM_SCAN_CUH_
