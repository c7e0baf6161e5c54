// SPDX-License-Identifier: Apache-2.0
// The CPU kernels of add_rms_norm.
#include "xla_ffi_ops/ops/add_rms_norm/add_rms_norm.h"

#include <cstdint>

#include "xla_ffi_ops/kit/run_rows.h"

namespace xla_ffi_ops::add_rms_norm {

template <typename T, typename W>
XLA_FFI_OPS_CPU_KERNEL void Forward(Cpu cpu, int64_t begin, int64_t end,
                                    int64_t cols, Accumulator<T> eps,
                                    Rows<const T> x, Rows<const T> residual,
                                    Rows<const W> scale, T* y, T* sum,
                                    Accumulator<T>* rstd) {
  const ForwardFormula<T> f{eps, rstd};
  const Outputs out{y, sum};
  const auto none = kNoSums<Accumulator<T>>;
  if (scale.data == nullptr) {
    RunRows(cpu, f, begin, end, cols, out, none, x, residual, Ones());
  } else {
    RunRows(cpu, f, begin, end, cols, out, none, x, residual, scale);
  }
}

template <typename T, typename W>
XLA_FFI_OPS_CPU_KERNEL void Backward(
    Cpu cpu, int64_t begin, int64_t end, int64_t cols, Rows<const W> scale,
    Rows<const T> sum, Rows<const Accumulator<T>> rstd, Rows<const T> dy,
    Rows<const T> dsum, T* dx, T* dresidual, Accumulator<T>* sums) {
  using Acc = Accumulator<T>;
  const BackwardFormula<Acc> f{rstd};
  const Outputs out{dx, dresidual};
  if (scale.data == nullptr) {
    RunRows(cpu, f, begin, end, cols, out, kNoSums<Acc>, sum, dy, dsum, Ones());
  } else {
    RunRows(cpu, f, begin, end, cols, out, Outputs{sums}, sum, dy, dsum, scale);
  }
}

#define INSTANTIATE(T, W)                                                      \
  template void Forward<T, W>(Cpu, int64_t, int64_t, int64_t, Accumulator<T>,  \
                              Rows<const T>, Rows<const T>, Rows<const W>, T*, \
                              T*, Accumulator<T>*);                            \
  template void Backward<T, W>(Cpu, int64_t, int64_t, int64_t, Rows<const W>,  \
                               Rows<const T>, Rows<const Accumulator<T>>,      \
                               Rows<const T>, Rows<const T>, T*, T*,           \
                               Accumulator<T>*);
XLA_FFI_OPS_WEIGHTED_TYPES(INSTANTIATE)

}  // namespace xla_ffi_ops::add_rms_norm
