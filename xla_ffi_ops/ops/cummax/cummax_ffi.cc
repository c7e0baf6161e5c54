// SPDX-License-Identifier: Apache-2.0
// The handlers of cummax, (n,*)->(n,*), and from a start, (n,*),(*)->(n,*).
#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/scans/scan_along_axis.h"

namespace xla_ffi_ops {

XLA_FFI_OPS_DEFINE_SCAN(xla_ffi_ops_cummax_fwd, internal::Extremum<true>);
XLA_FFI_OPS_DEFINE_SCAN_FROM(xla_ffi_ops_cummax_from_fwd,
                             internal::Extremum<true>);

}  // namespace xla_ffi_ops
