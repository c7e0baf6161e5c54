// SPDX-License-Identifier: Apache-2.0
// The CUDA kernels of cumsum.
#include "xla_ffi_ops/scans/cuda/number_scan.cuh"
#include "xla_ffi_ops/scans/cuda/numbers.cuh"
#include "xla_ffi_ops/scans/scan_call.h"

namespace xla_ffi_ops {
namespace internal {

struct Plus {
  template <typename N>
  static __device__ N Identity() {
    return static_cast<N>(-0.0);  // 0.0 would turn -0.0 into 0.0.
  }
  template <typename N>
  __device__ N operator()(N sooner, N later) const {
    return sooner + later;
  }
};

using IntegerSums = NumberOp<Integers, Plus>;

struct DoubleSums : NumberOp<Doubles, Plus> {
  static constexpr bool kIsAlwaysSure = false;

  using NumberOp::NumberOp;

  // Sums of types narrower than double do not overflow, and infinities have the
  // same effect in any order. What remains infinite does so in a plain loop,
  // too.
  __device__ bool IsSure(double first, double sum) const {
    return format.bytes < 8 || IsFinite(sum) || sum == first || IsNan(first);
  }
  bool MayBeUnsure() const { return format.bytes == 8; }
  __device__ bool IsOrdinary(double sum) const { return IsFinite(sum); }
};

}  // namespace internal

template <>
void LaunchScanOf<internal::Sum>(Cuda device, const ScanCall& call) {
  IsFloat(call.format) ? LaunchNumberScan<internal::DoubleSums>(device, call)
                       : LaunchNumberScan<internal::IntegerSums>(device, call);
}
template <>
void LaunchTotalsOf<internal::Sum>(Cuda device, const ScanCall& call) {
  IsFloat(call.format)
      ? LaunchNumberTotals<internal::DoubleSums>(device, call)
      : LaunchNumberTotals<internal::IntegerSums>(device, call);
}

}  // namespace xla_ffi_ops
