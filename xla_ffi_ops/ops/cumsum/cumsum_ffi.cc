// SPDX-License-Identifier: Apache-2.0
// The handlers of cumsum, (n,*)->(n,*), also from a start, (n,*),(*)->(n,*),
// and of sums, (n,*)->(*).
#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/scans/scan_along_axis.h"

namespace xla_ffi_ops {

XLA_FFI_OPS_DEFINE_SCAN(xla_ffi_ops_cumsum_fwd, internal::Sum);
XLA_FFI_OPS_DEFINE_SCAN_FROM(xla_ffi_ops_cumsum_from_fwd, internal::Sum);
XLA_FFI_OPS_DEFINE_SCAN_TOTAL(xla_ffi_ops_cumsum_total_fwd, internal::Sum);

}  // namespace xla_ffi_ops
