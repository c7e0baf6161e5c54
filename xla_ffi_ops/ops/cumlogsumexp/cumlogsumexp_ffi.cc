// SPDX-License-Identifier: Apache-2.0
// The handlers of cumlogsumexp, (n,*)->(n,*), also from a start,
// (n,*),(*)->(n,*), and of totals, (n,*)->(*).
#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/scans/scan_along_axis.h"

namespace xla_ffi_ops {

XLA_FFI_OPS_DEFINE_SCAN(xla_ffi_ops_cumlogsumexp_fwd, internal::LogSumExp);
XLA_FFI_OPS_DEFINE_SCAN_FROM(xla_ffi_ops_cumlogsumexp_from_fwd,
                             internal::LogSumExp);
XLA_FFI_OPS_DEFINE_SCAN_TOTAL(xla_ffi_ops_cumlogsumexp_total_fwd,
                              internal::LogSumExp);

}  // namespace xla_ffi_ops
