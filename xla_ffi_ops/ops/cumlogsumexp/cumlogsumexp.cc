// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/scans/log_sum_exp_scan.h"
#include "xla_ffi_ops/scans/scan_ops.h"

namespace xla_ffi_ops {

template <>
std::unique_ptr<ScanKernel> MakeScan<internal::LogSumExp>(int type, int64_t n,
                                                          bool reverse,
                                                          const void* starts) {
  return internal::MakeOfType(FloatTypes(), type, [=](auto tag) {
    using T = TypeOf<decltype(tag)>;
    return std::make_unique<internal::LogSumExpScan<T>>(n, reverse, starts);
  });
}

}  // namespace xla_ffi_ops
