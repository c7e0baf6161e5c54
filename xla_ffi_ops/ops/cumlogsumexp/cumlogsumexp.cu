// SPDX-License-Identifier: Apache-2.0
// The CUDA kernels of cumlogsumexp.
#include <cstdint>

#include "xla_ffi_ops/scans/cuda/number_scan.cuh"
#include "xla_ffi_ops/scans/cuda/numbers.cuh"
#include "xla_ffi_ops/scans/log_sum.h"
#include "xla_ffi_ops/scans/scan_call.h"

namespace xla_ffi_ops {
namespace internal {

// Of elements that are computed in E. What is chosen is selected: branches take
// a stack.
template <typename E>
struct LogSumExpOp {
  using Item = E;
  using Result = E;
  struct State : LogSum<E> {
    __device__ State Shuffle(int mask) const {
      State other;
      other.reference = Shuffled(this->reference, mask);
      other.others = Shuffled(this->others, mask);
      return other;
    }
  };
  using Carry = State;
  static constexpr bool kIsAlwaysSure = true;

  NumberFormat format;

  explicit LogSumExpOp(NumberFormat of) : format(of) {}

  template <int kSize>
  __device__ void Decode(const Word (&words)[kSize], E (&values)[kSize]) const {
    DecodeFloats(format, words, values);
  }
  template <int kSize>
  __device__ void Encode(const E (&values)[kSize], Word (&words)[kSize]) const {
    EncodeFloats(format, values, words);
  }
  // What comes before is like one element.
  __device__ State First(const void* starts, int64_t i) const {
    State sum;
    if (starts != nullptr) sum.Raise(static_cast<const E*>(starts)[i]);
    return sum;
  }
  __device__ void SetTotal(void* totals, int64_t i, const State& sum) const {
    static_cast<E*>(totals)[i] = sum.Log();
  }

  __device__ void Add(E x, State* sum) const {
    const E before = sum->reference;
    const bool is_above = sum->IsAbove(x, before);
    const E next = is_above ? x : before;
    const double exp = sum->Exp(is_above ? before : x, next);
    sum->others = is_above ? (1 + sum->others) * exp : sum->others + exp;
    sum->reference = next;
  }
  __device__ State Join(const State& sooner, const State& later) const {
    // Where seven sums are joined, no element is above the last reference + 2;
    // and where each of many raises it, all before becomes smaller.
    constexpr E kMargin = 0.125;
    const bool is_above = later.reference > sooner.reference + kMargin;
    const E low = is_above ? sooner.reference : later.reference;
    State both;
    both.reference = is_above ? later.reference : sooner.reference;
    const double exp = State::Exp(low, both.reference);
    const double rest = is_above ? sooner.others : later.others;
    both.others = (is_above ? later.others : sooner.others) + (1 + rest) * exp;
    return both;
  }
  __device__ State After(const State& state, const State& before) const {
    return Join(before, state);
  }
  __device__ State Step(E x, State sum) const {
    Add(x, &sum);
    return sum;
  }
  __device__ E ResultOf(const State& sum) const { return sum.Log(); }
};

}  // namespace internal

template <>
void LaunchScanOf<internal::LogSumExp>(Cuda device, const ScanCall& call) {
  call.format.bytes == 8
      ? LaunchNumberScan<internal::LogSumExpOp<double>>(device, call)
      : LaunchNumberScan<internal::LogSumExpOp<float>>(device, call);
}
template <>
void LaunchTotalsOf<internal::LogSumExp>(Cuda device, const ScanCall& call) {
  call.format.bytes == 8
      ? LaunchNumberTotals<internal::LogSumExpOp<double>>(device, call)
      : LaunchNumberTotals<internal::LogSumExpOp<float>>(device, call);
}

}  // namespace xla_ffi_ops
