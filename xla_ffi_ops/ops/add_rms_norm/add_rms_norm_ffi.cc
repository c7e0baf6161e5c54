// SPDX-License-Identifier: Apache-2.0
// The handlers of add_rms_norm, (d),(d),(d)?->(d),(d),(). See add_rms_norm.h
// for the formulas. The backward pass gets sum for x and residual.
#include <cstdint>

#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/ops/add_rms_norm/add_rms_norm.h"

namespace xla_ffi_ops::add_rms_norm {
namespace {

using Buffer = ffi::AnyBuffer;

enum Bits : int64_t { kX = 1, kResidual = 2, kScale = 4 };  // of `present`

template <typename Device>
HandlerResult ForwardHandler(Device device, double eps, int64_t present,
                             ffi::RemainingArgs operands, ffi::Result<Buffer> y,
                             ffi::Result<Buffer> sum,
                             ffi::Result<Buffer> rstd) {
  constexpr DTypesOn<Device, RowTypes> dtypes;
  Dim d = kUnknownDim;
  Argument x("x"), residual("residual");
  Weight scale("scale", (present & kScale) != 0);
  Call call;
  call.AtLeast("eps", eps, 0);
  call.Present(present, kX | kResidual, kScale);
  call.Operands(operands, {&x, &residual, &scale});
  call.Operand(x, dtypes, {&d});
  call.Operand(residual, x.dtype(), {&d});
  call.Weights(x, {&scale}, {&d});
  call.Result("y", *y, x.dtype(), {&d});
  call.Result("sum", *sum, x.dtype(), {&d});
  call.Result("rstd", *rstd, AccumulatorDType(x.dtype()), {});
  if (!call.Done()) return call.error();

  return DispatchWeighted(
      dtypes, x.dtype(), call.weight_dtype(), [&](auto t, auto w) {
        using T = TypeOf<decltype(t)>;
        using W = TypeOf<decltype(w)>;
        using Acc = Accumulator<T>;
        const ForwardFormula<T> formula{
            {static_cast<Acc>(eps), Data<Acc>(*rstd)}};
        return ComputeRows(device, Product(call.loops()), d, formula,
                           Operands{x.rows<T>(), residual.rows<T>()},
                           Operands{scale.rows<W>()},
                           Operands{Data<T>(*y), Data<T>(*sum)});
      });
}

template <typename Device>
HandlerResult BackwardHandler(Device device, double eps, int64_t present,
                              int64_t batch_rank, int64_t wanted,
                              ffi::RemainingArgs operands,
                              ffi::RemainingRets results) {
  constexpr DTypesOn<Device, RowTypes> dtypes;
  Dim d = kUnknownDim;
  Argument sum("sum"), rstd("rstd"), dy("dy"), dsum("dsum");
  Argument dx("dx", (wanted & kX) != 0);
  Argument dresidual("dresidual", (wanted & kResidual) != 0);
  Weight scale("scale", (present & kScale) != 0, (wanted & kScale) != 0);
  Call call;
  call.AtLeast("eps", eps, 0);
  call.Present(present, kX | kResidual, kScale);
  call.Operands(operands, {&scale, &sum, &rstd, &dy, &dsum});
  call.Wanted(wanted, present);
  call.Results<Device>(results, {&dx, &dresidual}, {&scale});
  call.Operand(sum, dtypes, {&d});
  call.Operand(rstd, AccumulatorDType(sum.dtype()), {});
  call.Operand(dy, sum.dtype(), {&d});
  call.Operand(dsum, sum.dtype(), {&d});
  call.BatchRank(batch_rank);
  call.Weights(sum, {&scale}, {&d});
  call.Result(dx, sum.dtype(), {&d});
  call.Result(dresidual, sum.dtype(), {&d});
  call.Gradients(sum, {&scale}, {&d});
  if (!call.Done()) return call.error();

  return DispatchWeighted(
      dtypes, sum.dtype(), call.weight_dtype(), [&](auto t, auto w) {
        using T = TypeOf<decltype(t)>;
        using W = TypeOf<decltype(w)>;
        using Acc = Accumulator<T>;
        const BackwardFormula<Acc> formula{{rstd.rows<Acc>()}};
        return ComputeBackward(
            device, call, {&scale}, d, formula,
            Operands{sum.rows<T>(), dy.rows<T>(), dsum.rows<T>()},
            Operands{scale.rows<W>()},
            Operands{dx.data<T>(), dresidual.data<T>()});
      });
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_add_rms_norm_fwd, ForwardHandler,
                           .Attr<double>("eps")
                               .Attr<int64_t>("present")
                               .RemainingArgs()  // x, residual, scale
                               .Ret<Buffer>()    // y
                               .Ret<Buffer>()    // sum
                               .Ret<Buffer>());  // rstd

XLA_FFI_OPS_DEFINE_HANDLER(
    xla_ffi_ops_add_rms_norm_bwd, BackwardHandler,
    .Attr<double>("eps")
        .Attr<int64_t>("present")
        .Attr<int64_t>("batch_rank")
        .Attr<int64_t>("wanted")
        .RemainingArgs()    // scale, sum, rstd, dy, dsum
        .RemainingRets());  // dx, dresidual, dscale, workspace

}  // namespace xla_ffi_ops::add_rms_norm
