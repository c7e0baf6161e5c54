// SPDX-License-Identifier: Apache-2.0
// The CPU kernels of layer_norm.
#include "xla_ffi_ops/ops/layer_norm/layer_norm.h"

#include <cstdint>

#include "xla_ffi_ops/kit/run_rows.h"

namespace xla_ffi_ops::layer_norm {

template <typename T, typename W>
XLA_FFI_OPS_CPU_KERNEL void Forward(Cpu cpu, int64_t begin, int64_t end,
                                    int64_t cols, Accumulator<T> eps,
                                    Rows<const T> x, Rows<const W> scale,
                                    Rows<const W> bias, T* y,
                                    Accumulator<T>* mean,
                                    Accumulator<T>* rstd) {
  const ForwardFormula<Accumulator<T>> f{eps, mean, rstd};
  const auto none = kNoSums<Accumulator<T>>;
  if (scale.data == nullptr && bias.data == nullptr) {
    RunRows(cpu, f, begin, end, cols, Outputs{y}, none, x, Ones(), Zeros());
  } else {
    RunRows(cpu, f, begin, end, cols, Outputs{y}, none, x,
            OrFilled(scale, 1, cols), OrFilled(bias, 0, cols));
  }
}

template <typename T, typename W>
XLA_FFI_OPS_CPU_KERNEL void Backward(Cpu cpu, int64_t begin, int64_t end,
                                     int64_t cols, Rows<const T> x,
                                     Rows<const W> scale, Rows<const W> bias,
                                     Rows<const Accumulator<T>> mean,
                                     Rows<const Accumulator<T>> rstd,
                                     Rows<const T> dy, T* dx,
                                     Accumulator<T>* sums) {
  using Acc = Accumulator<T>;
  const BackwardFormula<Acc> f{mean, rstd};
  if (scale.data == nullptr && bias.data == nullptr) {
    RunRows(cpu, f, begin, end, cols, Outputs{dx}, kNoSums<Acc>, x, dy, Ones());
  } else {
    const WeightSums both(sums, cols, scale, bias);
    RunRows(cpu, f, begin, end, cols, Outputs{dx}, both.outputs, x, dy,
            OrFilled(scale, 1, cols));
  }
}

#define INSTANTIATE(T, W)                                                      \
  template void Forward<T, W>(Cpu, int64_t, int64_t, int64_t, Accumulator<T>,  \
                              Rows<const T>, Rows<const W>, Rows<const W>, T*, \
                              Accumulator<T>*, Accumulator<T>*);               \
  template void Backward<T, W>(                                                \
      Cpu, int64_t, int64_t, int64_t, Rows<const T>, Rows<const W>,            \
      Rows<const W>, Rows<const Accumulator<T>>, Rows<const Accumulator<T>>,   \
      Rows<const T>, T*, Accumulator<T>*);
XLA_FFI_OPS_WEIGHTED_TYPES(INSTANTIATE)

}  // namespace xla_ffi_ops::layer_norm
