// SPDX-License-Identifier: Apache-2.0
// The handlers of rms_norm: (d),(d)->(d),() with a scale, (d)->(d),() without,
// and their backward passes. See rms_norm.h for the formulas.
#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>

#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/ops/rms_norm/rms_norm.h"

namespace xla_ffi_ops {
namespace {

using Buffer = ffi::AnyBuffer;
using Result = ffi::Result<ffi::AnyBuffer>;

void CheckEps(Checks& checks, double eps) {
  if (!(eps >= 0)) {
    std::ostringstream got;
    got << eps;
    checks.Fail("eps", "be zero or positive", got.str());
  }
}

// Calls fn with the rows of `scale`, in its dtype, or with Ones.
template <typename Fn>
Status DispatchScale(const std::optional<Buffer>& scale, Dim d, RowMap map,
                     Fn fn) {
  if (!scale) return fn(Ones());
  return Dispatch(FloatDTypes(), scale->element_type(), [&](auto tag) {
    using S = TypeOf<decltype(tag)>;
    return fn(Rows<const S>{Data<const S>(*scale), d, map});
  });
}

template <typename Device>
Status Forward(Device device, double eps, Buffer x, std::optional<Buffer> scale,
               Result y, Result rstd) {
  Dim d = kUnknownDim;
  Checks checks;
  CheckEps(checks, eps);
  checks.Operand("x", x, FloatDTypes(), {&d});
  if (scale) checks.Operand("scale", *scale, FloatDTypes(), {&d});
  const RowMap x_map = checks.Map("x", x, 1);
  const RowMap scale_map = scale ? checks.Map("scale", *scale, 1) : RowMap();
  checks.Result("y", *y, x.element_type(), {&d});
  checks.Result("rstd", *rstd, AccumulatorDType(x.element_type()), {});
  if (!checks.ok()) return checks.error();

  return Dispatch(FloatDTypes(), x.element_type(), [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    using Acc = Accumulator<T>;
    return DispatchScale(scale, d, scale_map, [&](auto scale_rows) {
      return ForRows(
          device, Product(checks.loops()), 2 * d * sizeof(T),
          [=, x = Rows<const T>{Data<const T>(x), d, x_map}, y = Data<T>(*y),
           rstd = Data<Acc>(*rstd)](auto where, int64_t begin, int64_t end) {
            RmsNormForward(where, begin, end, d, static_cast<Acc>(eps), x,
                           scale_rows, y, rstd);
          });
    });
  });
}

// The memory in which a CUDA kernel keeps partial sums of dscale: its last
// result, as memory that a CUDA graph is to use has to outlive the call. It is
// shaped as dscale with one more dimension before the last, whose size, the
// number of parts, is returned.
Dim CheckWorkspace(Checks& checks, ffi::DataType x_dtype,
                   ffi::DataType scale_dtype, Dim d, int64_t dscale_rank,
                   std::optional<Result> workspace) {
  if (!workspace) {
    checks.Fail("workspace", "be the last result", "none");
    return 0;
  }
  const bool wide = x_dtype == ffi::F64 || scale_dtype == ffi::F64;
  Dim parts = kUnknownDim;
  checks.Result("workspace", **workspace, wide ? ffi::F64 : ffi::F32,
                {&parts, &d}, dscale_rank);
  if (parts < 1) {
    checks.Fail("workspace", "have at least one part", std::to_string(parts));
  }
  return parts;
}

template <typename T, typename Scale>
Status RunBackward(const CpuContext& device, int64_t groups, int64_t rows,
                   int64_t d, Rows<const T> x, Scale scale,
                   Rows<const Accumulator<T>> rstd, Rows<const T> dy, T* dx,
                   RmsNormScale<Scale>* dscale, RmsNormSum<T, Scale>*,
                   int64_t) {
  using Sum = RmsNormSum<T, Scale>;
  const auto backward = [=](Cpu where, int64_t begin, int64_t end,
                            Sum* sum = nullptr) {
    RmsNormBackward(where, begin, end, d, x, scale, rstd, dy, dx, sum);
  };
  const int64_t bytes_per_row = 3 * d * sizeof(T);
  if constexpr (std::is_same_v<Scale, Ones>) {
    return ForRows(device, groups * rows, bytes_per_row, backward);
  } else {
    return SumRows<Sum>(device, groups, rows, d, bytes_per_row, dscale,
                        backward);
  }
}

template <typename T, typename Scale>
Status RunBackward(Cuda device, int64_t groups, int64_t rows, int64_t d,
                   Rows<const T> x, Scale scale,
                   Rows<const Accumulator<T>> rstd, Rows<const T> dy, T* dx,
                   RmsNormScale<Scale>* dscale, RmsNormSum<T, Scale>* workspace,
                   int64_t parts) {
  RmsNormBackward(device, groups, rows, d, x, scale, rstd, dy, dx, dscale,
                  workspace, parts);
  return ffi::Error::Success();
}

template <typename Device>
Status Backward(Device device, double eps, int64_t batch_rank, Buffer x,
                std::optional<Buffer> scale, Buffer rstd, Buffer dy, Result dx,
                std::optional<Result> dscale, std::optional<Result> workspace) {
  Dim d = kUnknownDim;
  Checks checks;
  CheckEps(checks, eps);
  checks.Operand("x", x, FloatDTypes(), {&d});
  checks.Operand("rstd", rstd, AccumulatorDType(x.element_type()), {});
  checks.Operand("dy", dy, x.element_type(), {&d});
  const int64_t loop_rank = checks.loops().size();
  if (batch_rank < 0 || batch_rank > loop_rank) {
    checks.Fail("batch_rank",
                "be at least 0 and at most " + std::to_string(loop_rank) +
                    ", the number of leading dimensions",
                std::to_string(batch_rank));
  }
  if (!checks.ok()) return checks.error();
  const bool shared =
      scale &&
      checks.SharedOperand("scale", *scale, FloatDTypes(), {&d}, batch_rank);
  const RowMap x_map = checks.Map("x", x, 1);
  const RowMap scale_map = scale ? checks.Map("scale", *scale, 1) : RowMap();
  const RowMap rstd_map = checks.Map("rstd", rstd, 0);
  const RowMap dy_map = checks.Map("dy", dy, 1);
  const int64_t dscale_rank =
      shared ? batch_rank : static_cast<int64_t>(checks.loops().size());
  checks.Result("dx", *dx, x.element_type(), {&d});
  if (scale) {
    checks.Result("dscale", **dscale, scale->element_type(), {&d}, dscale_rank);
  }
  Dim parts = 0;
  if (scale && std::is_same_v<Device, Cuda>) {
    parts = CheckWorkspace(checks, x.element_type(), scale->element_type(), d,
                           dscale_rank, workspace);
  } else if (workspace) {
    checks.Fail("workspace", "be a result for CUDA alone", "one");
  }
  if (!checks.ok()) return checks.error();

  const Shape loops = checks.loops();
  const int64_t groups = Product(loops.first(dscale_rank));
  const int64_t rows = Product(loops.last(loops.size() - dscale_rank));
  return Dispatch(FloatDTypes(), x.element_type(), [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    using Acc = Accumulator<T>;
    return DispatchScale(scale, d, scale_map, [&](auto scale_rows) {
      using Scale = decltype(scale_rows);
      return RunBackward(
          device, groups, rows, d, Rows<const T>{Data<const T>(x), d, x_map},
          scale_rows, Rows<const Acc>{Data<const Acc>(rstd), 1, rstd_map},
          Rows<const T>{Data<const T>(dy), d, dy_map}, Data<T>(*dx),
          dscale ? Data<RmsNormScale<Scale>>(**dscale) : nullptr,
          parts > 0 ? Data<RmsNormSum<T, Scale>>(**workspace) : nullptr, parts);
    });
  });
}

template <typename Device>
Status UnscaledForward(Device device, double eps, Buffer x, Result y,
                       Result rstd) {
  return Forward(device, eps, x, std::nullopt, y, rstd);
}

template <typename Device>
Status UnscaledBackward(Device device, double eps, int64_t batch_rank, Buffer x,
                        Buffer rstd, Buffer dy, Result dx) {
  return Backward(device, eps, batch_rank, x, std::nullopt, rstd, dy, dx,
                  std::nullopt, std::nullopt);
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_rms_norm_fwd, Forward,
                           .Attr<double>("eps")
                               .Arg<Buffer>()    // x
                               .Arg<Buffer>()    // scale
                               .Ret<Buffer>()    // y
                               .Ret<Buffer>());  // rstd

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_rms_norm_bwd, Backward,
                           .Attr<double>("eps")
                               .Attr<int64_t>("batch_rank")
                               .Arg<Buffer>()            // x
                               .Arg<Buffer>()            // scale
                               .Arg<Buffer>()            // rstd
                               .Arg<Buffer>()            // dy
                               .Ret<Buffer>()            // dx
                               .Ret<Buffer>()            // dscale
                               .OptionalRet<Buffer>());  // workspace, on CUDA

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_rms_norm_unscaled_fwd, UnscaledForward,
                           .Attr<double>("eps")
                               .Arg<Buffer>()    // x
                               .Ret<Buffer>()    // y
                               .Ret<Buffer>());  // rstd

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_rms_norm_unscaled_bwd, UnscaledBackward,
                           .Attr<double>("eps")
                               .Attr<int64_t>("batch_rank")
                               .Arg<Buffer>()    // x
                               .Arg<Buffer>()    // rstd
                               .Arg<Buffer>()    // dy
                               .Ret<Buffer>());  // dx

}  // namespace xla_ffi_ops
