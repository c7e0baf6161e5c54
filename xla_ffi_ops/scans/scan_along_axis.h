// SPDX-License-Identifier: Apache-2.0
// What all handlers of scans along an axis have in common.
#ifndef XLA_FFI_OPS_SCANS_SCAN_ALONG_AXIS_H_
#define XLA_FFI_OPS_SCANS_SCAN_ALONG_AXIS_H_

#include <cstdint>
#include <memory>
#include <type_traits>

#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/scans/scan_kernel.h"
#include "xla_ffi_ops/scans/scan_ops.h"

namespace xla_ffi_ops {

// The dtypes of the ScanTypes, in their order.
using ScanDTypes =
    DTypes<ffi::S8, ffi::S16, ffi::S32, ffi::S64, ffi::U8, ffi::U16, ffi::U32,
           ffi::U64, ffi::F16, ffi::BF16, ffi::F32, ffi::F64>;

namespace internal {

template <ffi::DataType... dtypes>
Types<NativeType<dtypes>...> TypesOf(DTypes<dtypes...>);
static_assert(std::is_same_v<decltype(TypesOf(ScanDTypes())), ScanTypes>);

template <ffi::DataType... dtypes>
int IndexIn(DTypes<dtypes...>, ffi::DataType dtype) {
  int count = 0;
  ((dtypes != dtype && ++count) && ...);
  return count;
}

}  // namespace internal

// Scans x, [rows, n, columns], along its middle axis to y. Threads share the
// work.
HandlerResult ScanRows(const CpuContext& device,
                       std::shared_ptr<const ScanKernel> kernel, const void* x,
                       void* y, int64_t rows, int64_t columns);

// The handler of an operation of scan_ops.h on elements of these dtypes: scans
// x, [leading..., n, trailing...], to y.
template <typename Op, typename OpDTypes>
HandlerResult ScanAlongAxis(CpuContext device, bool reverse,
                            int64_t trailing_rank, ffi::AnyBuffer x,
                            ffi::Result<ffi::AnyBuffer> y) {
  Dim n = kUnknownDim;
  Checks checks;
  checks.TrailingRank(trailing_rank);
  checks.Operand("x", x, OpDTypes(), {&n});
  checks.Result("y", *y, x.element_type(), {&n});
  if (!checks.ok()) return checks.error();
  const int type = internal::IndexIn(OpDTypes(), x.element_type());
  return ScanRows(device, MakeScan<Op>(type, n, reverse), x.untyped_data(),
                  y->untyped_data(), Product(checks.loops()),
                  Product(checks.trailing()));
}

// Exports ScanAlongAxis as a handler.
#define XLA_FFI_OPS_DEFINE_SCAN(handler, Op, dtypes)               \
  XLA_FFI_OPS_DEFINE_HANDLER(handler, (ScanAlongAxis<Op, dtypes>), \
                             .Attr<bool>("reverse")                \
                                 .Attr<int64_t>("trailing_rank")   \
                                 .Arg<ffi::AnyBuffer>()            \
                                 .Ret<ffi::AnyBuffer>())

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_SCANS_SCAN_ALONG_AXIS_H_
