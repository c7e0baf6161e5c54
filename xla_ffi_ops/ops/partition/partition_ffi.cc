// SPDX-License-Identifier: Apache-2.0
// The handler of partition, (n,*)->(n,*).
#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/sorting/along_axis.h"

namespace xla_ffi_ops {

XLA_FFI_OPS_DEFINE_PARTITION(xla_ffi_ops_partition_fwd,
                             /*gives_indices=*/false);

}  // namespace xla_ffi_ops
