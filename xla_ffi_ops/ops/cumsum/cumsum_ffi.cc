// SPDX-License-Identifier: Apache-2.0
// The handlers of cumsum, (n,*)->(n,*), also from a start, (n,*),(*)->(n,*),
// and of sums in float64, (n,*)->(*).
#include <cstdint>

#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/scans/scan_along_axis.h"

namespace xla_ffi_ops {

// cumsum.cc has it.
template <typename T>
void ColumnTotals(const T* x, int64_t n, int64_t columns, double* totals);

namespace {

HandlerResult TotalHandler(CpuContext device, int64_t trailing_rank,
                           ffi::AnyBuffer x,
                           ffi::Result<ffi::AnyBuffer> total) {
  Dim n = kUnknownDim;
  Checks checks;
  checks.TrailingRank(trailing_rank);
  checks.Operand("x", x, FloatDTypes(), {&n});
  checks.Result("total", *total, ffi::F64, {});
  if (!checks.ok()) return checks.error();
  const int64_t columns = Product(checks.trailing());
  return Dispatch(FloatDTypes(), x.element_type(), [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    const T* const from = Data<const T>(x);
    return SumRows<double>(
        device, Product(checks.loops()), n, columns, columns * sizeof(T),
        Data<double>(*total),
        [=](Cpu, int64_t begin, int64_t end, double* totals) {
          ColumnTotals(from + begin * columns, end - begin, columns, totals);
        });
  });
}

}  // namespace

XLA_FFI_OPS_DEFINE_SCAN(xla_ffi_ops_cumsum_fwd, internal::Sum, ScanDTypes);
XLA_FFI_OPS_DEFINE_SCAN_FROM(xla_ffi_ops_cumsum_from_fwd, internal::Sum,
                             ScanDTypes);
XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_cumsum_total_fwd, TotalHandler,
                           .Attr<int64_t>("trailing_rank")
                               .Arg<ffi::AnyBuffer>()    // x
                               .Ret<ffi::AnyBuffer>());  // total

}  // namespace xla_ffi_ops
