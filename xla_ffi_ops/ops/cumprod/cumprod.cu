// SPDX-License-Identifier: Apache-2.0
// The CUDA kernels of cumprod.
#include <cstdint>

#include "xla_ffi_ops/scans/cuda/number_scan.cuh"
#include "xla_ffi_ops/scans/cuda/numbers.cuh"
#include "xla_ffi_ops/scans/recurrences/recurrence_end.h"
#include "xla_ffi_ops/scans/scan_call.h"

namespace xla_ffi_ops {
namespace internal {

struct Times {
  template <typename N>
  static __device__ N Identity() {
    return 1;
  }
  template <typename N>
  __device__ N operator()(N sooner, N later) const {
    return sooner * later;
  }
};

using IntegerProducts = NumberOp<Integers, Times>;

// The product of many factors is m 2^e: it leaves the range of double sooner
// than the running product.
struct DoubleProducts : Doubles {
  using Item = double;
  using Carry = double;
  using Result = double;
  struct State {
    double m = 1;
    int64_t e = 0;

    __device__ State Shuffle(int mask) const {
      return {Shuffled(m, mask), Shuffled(e, mask)};
    }
  };
  static constexpr bool kIsAlwaysSure = false;

  explicit DoubleProducts(NumberFormat format) : Doubles{format} {}

  __device__ double First(const void*, int64_t) const { return 1; }
  __device__ void SetTotal(void* totals, int64_t i, const State& state) const {
    Doubles::SetTotal(totals, i, After(state, 1));
  }
  __device__ void Add(double factor, State* state) const {
    state->m *= factor;
    MoveExponent(&state->m, &state->e);
  }
  __device__ State Join(const State& sooner, const State& later) const {
    State both{sooner.m * later.m, sooner.e + later.e};
    MoveExponent(&both.m, &both.e);
    return both;
  }
  __device__ double After(const State& state, double before) const {
    return Scaled(before * state.m, state.e);
  }
  __device__ double Step(double factor, double before) const {
    return before * factor;
  }
  __device__ double ResultOf(double product) const { return product; }

  // Products of less than double seldom leave its range. Where they do, they
  // may come back.
  bool MayBeUnsure() const { return format.bytes == 8; }
  __device__ bool IsOrdinary(double product) const {
    return IsFinite(product) && product != 0;
  }
  __device__ bool IsSure(double first, double product) const {
    return format.bytes < 8 || IsOrdinary(product) || !IsOrdinary(first);
  }
};

}  // namespace internal

template <>
void LaunchScanOf<internal::Product>(Cuda device, const ScanCall& call) {
  IsFloat(call.format)
      ? LaunchNumberScan<internal::DoubleProducts>(device, call)
      : LaunchNumberScan<internal::IntegerProducts>(device, call);
}

}  // namespace xla_ffi_ops
