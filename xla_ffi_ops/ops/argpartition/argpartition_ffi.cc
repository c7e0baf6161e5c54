// SPDX-License-Identifier: Apache-2.0
// The handler of argpartition, (n,*)->(n,*).
#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/sorting/along_axis.h"

namespace xla_ffi_ops {

XLA_FFI_OPS_DEFINE_PARTITION(xla_ffi_ops_argpartition_fwd,
                             /*gives_indices=*/true);

}  // namespace xla_ffi_ops
