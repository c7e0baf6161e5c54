// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/scans/log_sum_exp_scan.h"
#include "xla_ffi_ops/scans/scan_ops.h"

namespace xla_ffi_ops {

template struct ScanKernels<internal::LogSumExp>;

}  // namespace xla_ffi_ops
