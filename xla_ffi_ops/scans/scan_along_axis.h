// SPDX-License-Identifier: Apache-2.0
// What all handlers of scans along an axis have in common.
#ifndef XLA_FFI_OPS_SCANS_SCAN_ALONG_AXIS_H_
#define XLA_FFI_OPS_SCANS_SCAN_ALONG_AXIS_H_

#include <cstdint>
#include <memory>

#include "xla_ffi_ops/handler/checks.h"
#include "xla_ffi_ops/handler/dtype.h"
#include "xla_ffi_ops/handler/handler.h"
#include "xla_ffi_ops/scans/scan_call.h"
#include "xla_ffi_ops/scans/scan_kernel.h"
#include "xla_ffi_ops/scans/scan_ops.h"
#include "xla_ffi_ops/threads/handler_result.h"
#include "xla_ffi_ops/threads/parallel.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/types.h"

namespace xla_ffi_ops {

namespace internal {

// The dtypes of an operation's elements.
template <typename Op>
using ScanDTypes = DTypesOf<typename Op::All>;

// What scans of x start from.
template <typename Op>
ffi::DataType StartDType(ffi::DataType x) {
  return Dispatch(ScanDTypes<Op>(), x, [](auto tag) {
    return kDTypeOf<typename Op::template Start<TypeOf<decltype(tag)>>>;
  });
}

template <typename Op>
NumberFormat MemoryFormat(ffi::DataType x) {
  return Dispatch(ScanDTypes<Op>(), x, [](auto tag) {
    return NumberFormatOf<TypeOf<decltype(tag)>>();
  });
}

template <typename Op>
std::unique_ptr<ScanKernel> MakeScanOf(ffi::DataType dtype, int64_t n,
                                       bool reverse, const void* starts) {
  return Dispatch(ScanDTypes<Op>(), dtype, [=](auto tag) {
    return MakeScan<Op, TypeOf<decltype(tag)>>(n, reverse, starts);
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

namespace internal {

// Run a call on a device. `dtype` is that of its x.
template <typename Op>
HandlerResult RunScan(const CpuContext& device, ffi::DataType dtype,
                      const ScanCall& call) {
  return ScanRows(device,
                  MakeScanOf<Op>(dtype, call.n, call.reverse, call.starts),
                  call.x, call.y, call.rows, call.columns);
}
template <typename Op>
HandlerResult RunScan(Cuda device, ffi::DataType, const ScanCall& call) {
  LaunchScanOf<Op>(device, call);
  return ffi::Error::Success();
}
template <typename Op>
HandlerResult RunTotals(const CpuContext& device, ffi::DataType dtype,
                        const ScanCall& call) {
  return ScanTotals(device,
                    MakeScanOf<Op>(dtype, call.n, call.reverse, call.starts),
                    call.x, call.y, call.rows, call.columns);
}
template <typename Op>
HandlerResult RunTotals(Cuda device, ffi::DataType, const ScanCall& call) {
  LaunchTotalsOf<Op>(device, call);
  return ffi::Error::Success();
}

}  // namespace internal

// The handler of an operation of scan_ops.h: scans x, [leading..., n,
// trailing...], to y. If there is a `start`, [leading..., trailing...], scans
// start from that.
template <typename Op, typename... Start, typename Device>
HandlerResult ScanAlongAxis(Device device, bool reverse, int64_t trailing_rank,
                            ffi::AnyBuffer x, Start... start,
                            ffi::Result<ffi::AnyBuffer> y) {
  Dim n = kUnknownDim;
  const auto dtype = x.element_type();
  Checks checks;
  checks.TrailingRank(trailing_rank);
  checks.Operand("x", x, internal::ScanDTypes<Op>(), {&n});
  if (!checks.ok()) return checks.error();
  // Like a result, it has all loop dimensions in full.
  (checks.Result("start", start, internal::StartDType<Op>(dtype), {}), ...);
  checks.Result("y", *y, dtype, {&n});
  if (!checks.ok()) return checks.error();
  const void* starts = nullptr;
  ((starts = start.untyped_data()), ...);
  return internal::RunScan<Op>(
      device, dtype,
      {internal::MemoryFormat<Op>(dtype), x.untyped_data(), starts,
       y->untyped_data(), Product(checks.loops()), n,
       Product(checks.trailing()), reverse});
}

// The handler of what all elements make: of x likewise, [leading...,
// trailing...]. It has the dtype of a start.
template <typename Op, typename Device>
HandlerResult TotalAlongAxis(Device device, int64_t trailing_rank,
                             ffi::AnyBuffer x,
                             ffi::Result<ffi::AnyBuffer> total) {
  static_assert(Op::kHasTotals);
  Dim n = kUnknownDim;
  const auto dtype = x.element_type();
  Checks checks;
  checks.TrailingRank(trailing_rank);
  checks.Operand("x", x, internal::ScanDTypes<Op>(), {&n});
  if (!checks.ok()) return checks.error();
  checks.Result("total", *total, internal::StartDType<Op>(dtype), {});
  if (!checks.ok()) return checks.error();
  return internal::RunTotals<Op>(
      device, dtype,
      {internal::MemoryFormat<Op>(dtype), x.untyped_data(), /*starts=*/nullptr,
       total->untyped_data(), Product(checks.loops()), n,
       Product(checks.trailing()), /*reverse=*/false});
}

// Exports ScanAlongAxis as a handler, ScanAlongAxis from a start, and
// TotalAlongAxis. The op follows last: it may have a comma.
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
