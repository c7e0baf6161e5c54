// SPDX-License-Identifier: Apache-2.0
// The handler of argsort, (n,*)->(n,*).
#include <cstdint>

#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/sorting/along_axis.h"

namespace xla_ffi_ops::argsort {
namespace {

using Buffer = ffi::AnyBuffer;

HandlerResult Handler(CpuContext device, bool descending, bool stable,
                      int64_t trailing_rank, Buffer x, ffi::Result<Buffer> y) {
  const Order order = !descending ? Order::kAscending
                      : stable    ? Order::kDescending
                                  : Order::kReversed;
  return SortAlongAxis(device, trailing_rank, x, *y, /*gives_indices=*/true,
                       /*one_nan=*/false,
                       [=](const AnyFormat& format, int64_t n) {
                         return ArgsortKernel(format, n, order);
                       });
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_argsort_fwd, Handler,
                           .Attr<bool>("descending")
                               .Attr<bool>("stable")
                               .Attr<int64_t>("trailing_rank")
                               .Arg<Buffer>()    // x
                               .Ret<Buffer>());  // y

}  // namespace xla_ffi_ops::argsort
