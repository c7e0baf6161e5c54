// SPDX-License-Identifier: Apache-2.0
// The handlers of softmax, (d)->(d). See softmax.h for the formulas.
#include <cstdint>

#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/ops/softmax/softmax.h"

namespace xla_ffi_ops::softmax {
namespace {

using Buffer = ffi::AnyBuffer;
using Result = ffi::Result<ffi::AnyBuffer>;

// Rows of no elements are nothing to do, however many there are.
int64_t RowCount(const Checks& checks, Dim d) {
  return d == 0 ? 0 : Product(checks.loops());
}

template <typename Device>
HandlerResult ForwardHandler(Device device, Buffer x, Result y) {
  constexpr DTypesOn<Device, RowTypes> dtypes;
  Dim d = kUnknownDim;
  Checks checks;
  checks.Operand("x", x, dtypes, {&d});
  const RowMap x_map = checks.Map("x", x, 1);
  checks.Result("y", *y, x.element_type(), {&d});
  if (!checks.ok()) return checks.error();

  return Dispatch(dtypes, x.element_type(), [&](auto t) {
    using T = TypeOf<decltype(t)>;
    const ForwardFormula<T> formula;
    return ComputeRows(device, RowCount(checks, d), d, formula,
                       Operands{Rows<const T>{Data<const T>(x), d, x_map}},
                       kNoWeights<T>, Operands{Data<T>(*y)});
  });
}

template <typename Device>
HandlerResult BackwardHandler(Device device, int64_t batch_rank, Buffer y,
                              Buffer dy, Result dx) {
  constexpr DTypesOn<Device, RowTypes> dtypes;
  Dim d = kUnknownDim;
  Checks checks;
  checks.Operand("y", y, dtypes, {&d});
  checks.Operand("dy", dy, y.element_type(), {&d});
  checks.BatchRank(batch_rank);
  const RowMap y_map = checks.Map("y", y, 1);
  const RowMap dy_map = checks.Map("dy", dy, 1);
  checks.Result("dx", *dx, y.element_type(), {&d});
  if (!checks.ok()) return checks.error();

  return Dispatch(dtypes, y.element_type(), [&](auto t) {
    using T = TypeOf<decltype(t)>;
    const BackwardFormula<Accumulator<T>> formula;
    return ComputeRows(device, RowCount(checks, d), d, formula,
                       Operands{Rows<const T>{Data<const T>(y), d, y_map},
                                Rows<const T>{Data<const T>(dy), d, dy_map}},
                       kNoWeights<T>, Operands{Data<T>(*dx)});
  });
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_softmax_fwd, ForwardHandler,
                           .Arg<Buffer>()        // x
                               .Ret<Buffer>());  // y

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_softmax_bwd, BackwardHandler,
                           .Attr<int64_t>("batch_rank")
                               .Arg<Buffer>()    // y
                               .Arg<Buffer>()    // dy
                               .Ret<Buffer>());  // dx

}  // namespace xla_ffi_ops::softmax
