// SPDX-License-Identifier: Apache-2.0
// The handler of sort, (n,*)->(n,*).
#include <cstdint>

#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/sorting/along_axis.h"

namespace xla_ffi_ops::sort {
namespace {

using Buffer = ffi::AnyBuffer;

HandlerResult Handler(CpuContext device, bool descending, bool one_nan,
                      int64_t trailing_rank, Buffer x, ffi::Result<Buffer> y) {
  return SortAlongAxis(device, trailing_rank, x, *y, /*gives_indices=*/false,
                       one_nan, [=](const AnyFormat& format, int64_t n) {
                         return SortKernel(format, n, descending);
                       });
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_sort_fwd, Handler,
                           .Attr<bool>("descending")
                               .Attr<bool>("one_nan")
                               .Attr<int64_t>("trailing_rank")
                               .Arg<Buffer>()    // x
                               .Ret<Buffer>());  // y

}  // namespace xla_ffi_ops::sort
