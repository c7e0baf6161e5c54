// SPDX-License-Identifier: Apache-2.0
// The CUDA kernels of cummax.
#include "xla_ffi_ops/scans/cuda/extremum_scan.cuh"
#include "xla_ffi_ops/scans/cuda/number_scan.cuh"
#include "xla_ffi_ops/scans/scan_call.h"

namespace xla_ffi_ops {

template <>
void LaunchScanOf<internal::Extremum<true>>(Cuda device, const ScanCall& call) {
  LaunchNumberScan<internal::ExtremumOp<true>>(device, call);
}

}  // namespace xla_ffi_ops
