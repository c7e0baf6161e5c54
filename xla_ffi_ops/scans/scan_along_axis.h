// SPDX-License-Identifier: Apache-2.0
// What all handlers of scans along an axis have in common.
#ifndef XLA_FFI_OPS_SCANS_SCAN_ALONG_AXIS_H_
#define XLA_FFI_OPS_SCANS_SCAN_ALONG_AXIS_H_

#include <cstdint>
#include <memory>
#include <type_traits>

#include "xla_ffi_ops/handler/checks.h"
#include "xla_ffi_ops/handler/dtype.h"
#include "xla_ffi_ops/handler/handler.h"
#include "xla_ffi_ops/scans/scan_kernel.h"
#include "xla_ffi_ops/scans/scan_ops.h"
#include "xla_ffi_ops/threads/handler_result.h"
#include "xla_ffi_ops/threads/parallel.h"

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

// What scans of x start from.
template <typename Op, ffi::DataType... dtypes>
ffi::DataType StartDType(DTypes<dtypes...> list, ffi::DataType x) {
  return Dispatch(list, x, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    using Start = typename Op::template Start<T>;
    return std::is_same_v<Start, T> ? x : kDTypeOf<Start>;
  });
}

}  // namespace internal

// Scans x, [rows, n, columns], along its middle axis to y. Threads share the
// work.
HandlerResult ScanRows(const CpuContext& device,
                       std::shared_ptr<const ScanKernel> kernel, const void* x,
                       void* y, int64_t rows, int64_t columns);

// Writes the totals of x, [rows, n, columns], along its middle axis to
// `totals`, [rows, columns], likewise.
HandlerResult ScanTotals(const CpuContext& device,
                         std::shared_ptr<const ScanKernel> kernel,
                         const void* x, void* totals, int64_t rows,
                         int64_t columns);

// The handler of an operation of scan_ops.h on elements of these dtypes: scans
// x, [leading..., n, trailing...], to y. If there is a `start`, [leading...,
// trailing...], scans start from that.
template <typename Op, typename OpDTypes, typename... Start>
HandlerResult ScanAlongAxis(CpuContext device, bool reverse,
                            int64_t trailing_rank, ffi::AnyBuffer x,
                            Start... start, ffi::Result<ffi::AnyBuffer> y) {
  Dim n = kUnknownDim;
  const auto dtype = x.element_type();
  Checks checks;
  checks.TrailingRank(trailing_rank);
  checks.Operand("x", x, OpDTypes(), {&n});
  if (!checks.ok()) return checks.error();
  // Like a result, it has all loop dimensions in full.
  (checks.Result("start", start, internal::StartDType<Op>(OpDTypes(), dtype),
                 {}),
   ...);
  checks.Result("y", *y, dtype, {&n});
  if (!checks.ok()) return checks.error();
  const void* starts = nullptr;
  ((starts = start.untyped_data()), ...);
  const int type = internal::IndexIn(OpDTypes(), dtype);
  return ScanRows(device, MakeScan<Op>(type, n, reverse, starts),
                  x.untyped_data(), y->untyped_data(), Product(checks.loops()),
                  Product(checks.trailing()));
}

// The handler of what all elements make: of x likewise, [leading...,
// trailing...]. It has the dtype of a start.
template <typename Op, typename OpDTypes>
HandlerResult TotalAlongAxis(CpuContext device, int64_t trailing_rank,
                             ffi::AnyBuffer x,
                             ffi::Result<ffi::AnyBuffer> total) {
  static_assert(Op::kHasTotals);
  Dim n = kUnknownDim;
  const auto dtype = x.element_type();
  Checks checks;
  checks.TrailingRank(trailing_rank);
  checks.Operand("x", x, OpDTypes(), {&n});
  if (!checks.ok()) return checks.error();
  checks.Result("total", *total, internal::StartDType<Op>(OpDTypes(), dtype),
                {});
  if (!checks.ok()) return checks.error();
  const int type = internal::IndexIn(OpDTypes(), dtype);
  return ScanTotals(device, MakeScan<Op>(type, n, /*reverse=*/false, nullptr),
                    x.untyped_data(), total->untyped_data(),
                    Product(checks.loops()), Product(checks.trailing()));
}

// Exports ScanAlongAxis as a handler: XLA_FFI_OPS_DEFINE_SCAN(handler, Op,
// dtypes), and likewise that from a start, and TotalAlongAxis.
#define XLA_FFI_OPS_DEFINE_SCAN(handler, ...)                       \
  XLA_FFI_OPS_DEFINE_HANDLER(handler, (ScanAlongAxis<__VA_ARGS__>), \
                             .Attr<bool>("reverse")                 \
                                 .Attr<int64_t>("trailing_rank")    \
                                 .Arg<ffi::AnyBuffer>()             \
                                 .Ret<ffi::AnyBuffer>())
#define XLA_FFI_OPS_DEFINE_SCAN_FROM(handler, ...)                         \
  XLA_FFI_OPS_DEFINE_HANDLER(handler,                                      \
                             (ScanAlongAxis<__VA_ARGS__, ffi::AnyBuffer>), \
                             .Attr<bool>("reverse")                        \
                                 .Attr<int64_t>("trailing_rank")           \
                                 .Arg<ffi::AnyBuffer>()                    \
                                 .Arg<ffi::AnyBuffer>()                    \
                                 .Ret<ffi::AnyBuffer>())
#define XLA_FFI_OPS_DEFINE_SCAN_TOTAL(handler, ...)                  \
  XLA_FFI_OPS_DEFINE_HANDLER(handler, (TotalAlongAxis<__VA_ARGS__>), \
                             .Attr<int64_t>("trailing_rank")         \
                                 .Arg<ffi::AnyBuffer>()              \
                                 .Ret<ffi::AnyBuffer>())

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_SCANS_SCAN_ALONG_AXIS_H_
