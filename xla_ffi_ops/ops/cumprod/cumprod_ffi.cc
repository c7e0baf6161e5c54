// SPDX-License-Identifier: Apache-2.0
// The handler of cumprod, (n,*)->(n,*).
#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/scans/scan_along_axis.h"

namespace xla_ffi_ops {

XLA_FFI_OPS_DEFINE_SCAN(xla_ffi_ops_cumprod_fwd, internal::Product);

}  // namespace xla_ffi_ops
