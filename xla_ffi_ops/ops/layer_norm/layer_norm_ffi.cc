// SPDX-License-Identifier: Apache-2.0
// The handlers of layer_norm, (d),(d)?,(d)?->(d),(),(). See layer_norm.h for
// the formulas.
#include <cstdint>

#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/ops/layer_norm/layer_norm.h"

namespace xla_ffi_ops::layer_norm {
namespace {

using Buffer = ffi::AnyBuffer;

enum Bits : int64_t { kX = 1, kScale = 2, kBias = 4 };  // of `present`

template <typename Device>
HandlerResult ForwardHandler(Device device, double eps, int64_t present,
                             ffi::RemainingArgs operands, ffi::Result<Buffer> y,
                             ffi::Result<Buffer> mean,
                             ffi::Result<Buffer> rstd) {
  constexpr DTypesOn<Device, RowTypes> dtypes;
  Dim d = kUnknownDim;
  Argument x("x");
  Weight scale("scale", (present & kScale) != 0);
  Weight bias("bias", (present & kBias) != 0);
  Call call;
  call.AtLeast("eps", eps, 0);
  call.Present(present, kX, kScale | kBias);
  call.Operands(operands, {&x, &scale, &bias});
  call.Operand(x, dtypes, {&d});
  call.Weights(x, {&scale, &bias}, {&d});
  call.Result("y", *y, x.dtype(), {&d});
  call.Result("mean", *mean, AccumulatorDType(x.dtype()), {});
  call.Result("rstd", *rstd, AccumulatorDType(x.dtype()), {});
  if (!call.Done()) return call.error();

  return DispatchWeighted(
      dtypes, x.dtype(), call.weight_dtype(), [&](auto t, auto w) {
        using T = TypeOf<decltype(t)>;
        using W = TypeOf<decltype(w)>;
        using Acc = Accumulator<T>;
        const ForwardFormula<Acc> formula{static_cast<Acc>(eps),
                                          Data<Acc>(*mean), Data<Acc>(*rstd)};
        return ComputeRows(
            device, Product(call.loops()), d, formula, Operands{x.rows<T>()},
            Operands{scale.rows<W>(), bias.rows<W>()}, Operands{Data<T>(*y)});
      });
}

template <typename Device>
HandlerResult BackwardHandler(Device device, double eps, int64_t present,
                              int64_t batch_rank, int64_t wanted,
                              ffi::RemainingArgs operands,
                              ffi::RemainingRets results) {
  constexpr DTypesOn<Device, RowTypes> dtypes;
  Dim d = kUnknownDim;
  Argument x("x"), mean("mean"), rstd("rstd"), dy("dy");
  Argument dx("dx", (wanted & kX) != 0);
  Weight scale("scale", (present & kScale) != 0, (wanted & kScale) != 0);
  Weight bias("bias", (present & kBias) != 0, (wanted & kBias) != 0);
  Call call;
  call.AtLeast("eps", eps, 0);
  call.Present(present, kX, kScale | kBias);
  call.Operands(operands, {&x, &scale, &bias, &mean, &rstd, &dy});
  call.Wanted(wanted, present);
  call.Results<Device>(results, {&dx}, {&scale, &bias});
  call.Operand(x, dtypes, {&d});
  call.Operand(mean, AccumulatorDType(x.dtype()), {});
  call.Operand(rstd, AccumulatorDType(x.dtype()), {});
  call.Operand(dy, x.dtype(), {&d});
  call.BatchRank(batch_rank);
  call.Weights(x, {&scale, &bias}, {&d});
  call.Result(dx, x.dtype(), {&d});
  call.Gradients(x, {&scale, &bias}, {&d});
  if (!call.Done()) return call.error();

  return DispatchWeighted(
      dtypes, x.dtype(), call.weight_dtype(), [&](auto t, auto w) {
        using T = TypeOf<decltype(t)>;
        using W = TypeOf<decltype(w)>;
        using Acc = Accumulator<T>;
        const BackwardFormula<Acc> formula{mean.rows<Acc>(), rstd.rows<Acc>()};
        return ComputeBackward(device, call, {&scale, &bias}, d, formula,
                               Operands{x.rows<T>(), dy.rows<T>()},
                               Operands{scale.rows<W>()},
                               Operands{dx.data<T>()});
      });
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_layer_norm_fwd, ForwardHandler,
                           .Attr<double>("eps")
                               .Attr<int64_t>("present")
                               .RemainingArgs()  // x, scale, bias
                               .Ret<Buffer>()    // y
                               .Ret<Buffer>()    // mean
                               .Ret<Buffer>());  // rstd

XLA_FFI_OPS_DEFINE_HANDLER(
    xla_ffi_ops_layer_norm_bwd, BackwardHandler,
    .Attr<double>("eps")
        .Attr<int64_t>("present")
        .Attr<int64_t>("batch_rank")
        .Attr<int64_t>("wanted")
        .RemainingArgs()    // x, scale, bias, mean, rstd, dy
        .RemainingRets());  // dx, dscale, dbias, workspaces

}  // namespace xla_ffi_ops::layer_norm
