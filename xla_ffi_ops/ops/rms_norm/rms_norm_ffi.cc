// SPDX-License-Identifier: Apache-2.0
// The handlers of rms_norm, (d),(d)?->(d),(). See rms_norm.h for the formulas.
#include <cstdint>

#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/ops/rms_norm/rms_norm.h"

namespace xla_ffi_ops::rms_norm {
namespace {

using Buffer = ffi::AnyBuffer;

enum Bits : int64_t { kX = 1, kScale = 2 };  // of `present`

template <typename Device>
HandlerResult ForwardHandler(Device device, double eps, int64_t present,
                             ffi::RemainingArgs operands, ffi::Result<Buffer> y,
                             ffi::Result<Buffer> rstd) {
  constexpr DTypesOn<Device, RowTypes> dtypes;
  Dim d = kUnknownDim;
  Argument x("x");
  Weight scale("scale", (present & kScale) != 0);
  Call call;
  call.AtLeast("eps", eps, 0);
  call.Present(present, kX, kScale);
  call.Operands(operands, {&x, &scale});
  call.Operand(x, dtypes, {&d});
  call.Weights(x, {&scale}, {&d});
  call.Result("y", *y, x.dtype(), {&d});
  call.Result("rstd", *rstd, AccumulatorDType(x.dtype()), {});
  if (!call.Done()) return call.error();

  return DispatchWeighted(
      dtypes, x.dtype(), call.weight_dtype(), [&](auto t, auto w) {
        using T = TypeOf<decltype(t)>;
        using W = TypeOf<decltype(w)>;
        using Acc = Accumulator<T>;
        const ForwardFormula<Acc> formula{static_cast<Acc>(eps),
                                          Data<Acc>(*rstd)};
        return ComputeRows(device, Product(call.loops()), d, formula,
                           Operands{x.rows<T>()}, Operands{scale.rows<W>()},
                           Operands{Data<T>(*y)});
      });
}

template <typename Device>
HandlerResult BackwardHandler(Device device, double eps, int64_t present,
                              int64_t batch_rank, int64_t wanted,
                              ffi::RemainingArgs operands,
                              ffi::RemainingRets results) {
  constexpr DTypesOn<Device, RowTypes> dtypes;
  Dim d = kUnknownDim;
  Argument x("x"), rstd("rstd"), dy("dy");
  Argument dx("dx", (wanted & kX) != 0);
  Weight scale("scale", (present & kScale) != 0, (wanted & kScale) != 0);
  Call call;
  call.AtLeast("eps", eps, 0);
  call.Present(present, kX, kScale);
  call.Operands(operands, {&x, &scale, &rstd, &dy});
  call.Wanted(wanted, present);
  call.Results<Device>(results, {&dx}, {&scale});
  call.Operand(x, dtypes, {&d});
  call.Operand(rstd, AccumulatorDType(x.dtype()), {});
  call.Operand(dy, x.dtype(), {&d});
  call.BatchRank(batch_rank);
  call.Weights(x, {&scale}, {&d});
  call.Result(dx, x.dtype(), {&d});
  call.Gradients(x, {&scale}, {&d});
  if (!call.Done()) return call.error();

  return DispatchWeighted(
      dtypes, x.dtype(), call.weight_dtype(), [&](auto t, auto w) {
        using T = TypeOf<decltype(t)>;
        using W = TypeOf<decltype(w)>;
        using Acc = Accumulator<T>;
        const BackwardFormula<Acc> formula{rstd.rows<Acc>()};
        return ComputeBackward(device, call, {&scale}, d, formula,
                               Operands{x.rows<T>(), dy.rows<T>()},
                               Operands{scale.rows<W>()},
                               Operands{dx.data<T>()});
      });
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_rms_norm_fwd, ForwardHandler,
                           .Attr<double>("eps")
                               .Attr<int64_t>("present")
                               .RemainingArgs()  // x, scale
                               .Ret<Buffer>()    // y
                               .Ret<Buffer>());  // rstd

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_rms_norm_bwd, BackwardHandler,
                           .Attr<double>("eps")
                               .Attr<int64_t>("present")
                               .Attr<int64_t>("batch_rank")
                               .Attr<int64_t>("wanted")
                               .RemainingArgs()    // x, scale, rstd, dy
                               .RemainingRets());  // dx, dscale, workspace

}  // namespace xla_ffi_ops::rms_norm
