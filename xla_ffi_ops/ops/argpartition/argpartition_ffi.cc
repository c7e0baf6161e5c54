// SPDX-License-Identifier: Apache-2.0
// The handler of argpartition, (n,*)->(n,*).
#include <cstdint>

#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/sorting/along_axis.h"

namespace xla_ffi_ops::argpartition {
namespace {

using Buffer = ffi::AnyBuffer;

HandlerResult Handler(CpuContext device, int64_t kth, int64_t trailing_rank,
                      Buffer x, ffi::Result<Buffer> y) {
  return PartitionAlongAxis(device, kth, trailing_rank, x, *y,
                            /*gives_indices=*/true);
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_argpartition_fwd, Handler,
                           .Attr<int64_t>("kth")
                               .Attr<int64_t>("trailing_rank")
                               .Arg<Buffer>()    // x
                               .Ret<Buffer>());  // y

}  // namespace xla_ffi_ops::argpartition
