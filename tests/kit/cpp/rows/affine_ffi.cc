// SPDX-License-Identifier: Apache-2.0
// call.h and compute_rows.h for call_test.py: y = x * scale + bias, of which
// both weights may be absent, with plain kernels for both devices.
#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "xla_ffi_ops/ffi.h"

namespace xla_ffi_ops {
namespace {

using Buffer = ffi::AnyBuffer;

// What the row of a weight that is not there has.
template <typename W>
W Get(const Rows<const W>& weight, int64_t row, int64_t j, float absent) {
  return weight.data == nullptr ? W(absent) : weight[row][j];
}

template <typename Device>
HandlerResult Forward(Device device, int64_t present, double least,
                      ffi::RemainingArgs operands, ffi::Result<Buffer> y) {
  Dim d = kUnknownDim;
  Argument x("x");
  Weight scale("scale", (present & 2) != 0), bias("bias", (present & 4) != 0);
  Call call;
  call.AtLeast("least", least, 0.5);
  call.Present(present, 1, 6);
  call.Operands(operands, {&x, &scale, &bias});
  call.Operand(x, FloatDTypes(), {&d});
  call.Weights(x, {&scale, &bias}, {&d});
  call.Result("y", *y, x.dtype(), {&d});
  if (!call.Done()) return call.error();
  return DispatchWeighted(
      FloatDTypes(), x.dtype(), call.weight_dtype(), [&](auto t, auto w) {
        using T = TypeOf<decltype(t)>;
        using W = TypeOf<decltype(w)>;
        return ForRows(
            device, Product(call.loops()), 40'000,
            [=, x = x.rows<T>(), scale = scale.rows<W>(), bias = bias.rows<W>(),
             y = Data<T>(*y)](auto, int64_t begin, int64_t end) {
              for (int64_t row = begin; row < end; ++row) {
                for (int64_t j = 0; j < d; ++j) {
                  y[row * d + j] = T(x[row][j] * Get(scale, row, j, 1) +
                                     Get(bias, row, j, 0));
                }
              }
            });
      });
}

template <typename T, typename W, typename Acc>
void Backward(Cpu, const RowRange& range, Rows<const T> x, Rows<const W> scale,
              Rows<const T> dy, T* dx, const Operands<Acc*, 2>& sums) {
  const int64_t d = range.cols;
  const int64_t begin = range.begin, end = begin + range.rows;
  const auto& [dscale, dbias] = sums.operand;
  for (int64_t j = 0; j < d; ++j) {
    if (dscale != nullptr) dscale[j] = 0;
    if (dbias != nullptr) dbias[j] = 0;
    for (int64_t row = begin; row < end; ++row) {
      const Acc g = dy[row][j];
      dx[row * d + j] = T(g * Get(scale, row, j, 1));
      if (dscale != nullptr) dscale[j] += g * x[row][j];
      if (dbias != nullptr) dbias[j] += g;
    }
  }
}

// One row after the other goes to one part of the memory after the other.
template <typename T, typename W, typename Acc>
void Backward(Cuda, const RowRange& range, Rows<const T> x, Rows<const W> scale,
              Rows<const T> dy, T* dx,
              const Operands<Workspace<W, Acc>, 2>& sums) {
  const int64_t groups = range.groups, rows = range.rows, d = range.cols;
  for (const auto& [out, memory, parts] : sums.operand) {
    const bool is_scale = out == sums[0].out;
    if (out == nullptr) continue;
    std::fill_n(memory, groups * parts * d, Acc(0));
    for (int64_t k = 0; k < groups * rows * d; ++k) {
      const int64_t row = k / d, j = k % d;
      const int64_t part = row / rows * parts + row % rows % parts;
      memory[part * d + j] += dy[row][j] * (is_scale ? x[row][j] : T(1.0f));
    }
    for (int64_t k = 0; k < groups * d; ++k) {
      Acc sum = 0;
      for (int64_t part = 0; part < parts; ++part) {
        sum += memory[(k / d * parts + part) * d + k % d];
      }
      out[k] = W(sum);
    }
  }
  for (int64_t k = 0; k < groups * rows * d; ++k) {
    dx[k] = T(dy[k / d][k % d] * Get(scale, k / d, k % d, 1));
  }
}

template <typename Device>
HandlerResult BackwardHandler(Device device, int64_t present, double least,
                              int64_t batch_rank, ffi::RemainingArgs operands,
                              ffi::RemainingRets results) {
  Dim d = kUnknownDim;
  Argument x("x"), dy("dy"), dx("dx");
  Weight scale("scale", (present & 2) != 0), bias("bias", (present & 4) != 0);
  Call call;
  call.AtLeast("least", least, 0.5);
  call.Present(present, 1, 6);
  call.Operands(operands, {&x, &scale, &bias, &dy});
  call.Results<Device>(results, {&dx}, {&scale, &bias});
  call.Operand(x, FloatDTypes(), {&d});
  call.Operand(dy, x.dtype(), {&d});
  call.BatchRank(batch_rank);
  call.Weights(x, {&scale, &bias}, {&d});
  call.Result(dx, x.dtype(), {&d});
  call.Gradients(x, {&scale, &bias}, {&d});
  if (!call.Done()) return call.error();
  return DispatchWeighted(
      FloatDTypes(), x.dtype(), call.weight_dtype(), [&](auto t, auto w) {
        using T = TypeOf<decltype(t)>;
        using W = TypeOf<decltype(w)>;
        return ComputeBackward<T, W>(
            device, call, {&scale, &bias}, d, 40'000,
            [=, x = x.rows<T>(), scale = scale.rows<W>(), dy = dy.rows<T>(),
             dx = dx.data<T>()](auto where, const RowRange& range,
                                const auto& sums) {
              Backward<T, W, Accumulator<T>>(where, range, x, scale, dy, dx,
                                             sums);
            });
      });
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(kit_test_affine_fwd, Forward,
                           .Attr<int64_t>("present")
                               .Attr<double>("least")
                               .RemainingArgs()
                               .Ret<Buffer>());

XLA_FFI_OPS_DEFINE_HANDLER(kit_test_affine_bwd, BackwardHandler,
                           .Attr<int64_t>("present")
                               .Attr<double>("least")
                               .Attr<int64_t>("batch_rank")
                               .RemainingArgs()
                               .RemainingRets());

}  // namespace xla_ffi_ops
