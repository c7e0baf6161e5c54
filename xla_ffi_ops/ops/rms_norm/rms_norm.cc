// SPDX-License-Identifier: Apache-2.0
// The CPU kernels of rms_norm.
#include "xla_ffi_ops/ops/rms_norm/rms_norm.h"

#include <cstdint>

#include "xla_ffi_ops/kit/run_rows.h"

namespace xla_ffi_ops::rms_norm {

template <typename T, typename W>
XLA_FFI_OPS_CPU_KERNEL void Forward(Cpu cpu, int64_t begin, int64_t end,
                                    int64_t cols, Accumulator<T> eps,
                                    Rows<const T> x, Rows<const W> scale, T* y,
                                    Accumulator<T>* rstd) {
  using Acc = Accumulator<T>;
  const ForwardFormula<Acc> f{eps, rstd};
  if (scale.data == nullptr) {
    RunRows(cpu, f, begin, end, cols, Outputs{y}, kNoSums<Acc>, x, Ones());
  } else {
    RunRows(cpu, f, begin, end, cols, Outputs{y}, kNoSums<Acc>, x, scale);
  }
}

template <typename T, typename W>
XLA_FFI_OPS_CPU_KERNEL void Backward(Cpu cpu, int64_t begin, int64_t end,
                                     int64_t cols, Rows<const T> x,
                                     Rows<const W> scale,
                                     Rows<const Accumulator<T>> rstd,
                                     Rows<const T> dy, T* dx,
                                     Accumulator<T>* sums) {
  using Acc = Accumulator<T>;
  const BackwardFormula<Acc> f{rstd};
  if (scale.data == nullptr) {
    RunRows(cpu, f, begin, end, cols, Outputs{dx}, kNoSums<Acc>, x, dy, Ones());
  } else {
    RunRows(cpu, f, begin, end, cols, Outputs{dx}, Outputs{sums}, x, dy, scale);
  }
}

#define INSTANTIATE(T, W)                                                     \
  template void Forward<T, W>(Cpu, int64_t, int64_t, int64_t, Accumulator<T>, \
                              Rows<const T>, Rows<const W>, T*,               \
                              Accumulator<T>*);                               \
  template void Backward<T, W>(Cpu, int64_t, int64_t, int64_t, Rows<const T>, \
                               Rows<const W>, Rows<const Accumulator<T>>,     \
                               Rows<const T>, T*, Accumulator<T>*);
XLA_FFI_OPS_WEIGHTED_TYPES(INSTANTIATE)

}  // namespace xla_ffi_ops::rms_norm
