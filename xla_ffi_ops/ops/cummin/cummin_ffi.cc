// SPDX-License-Identifier: Apache-2.0
// The handlers of cummin, (n,*)->(n,*), and from a start, (n,*),(*)->(n,*).
#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/scans/scan_along_axis.h"

namespace xla_ffi_ops {

XLA_FFI_OPS_DEFINE_SCAN(xla_ffi_ops_cummin_fwd, internal::Extremum<false>);
XLA_FFI_OPS_DEFINE_SCAN_FROM(xla_ffi_ops_cummin_from_fwd,
                             internal::Extremum<false>);

}  // namespace xla_ffi_ops
