// SPDX-License-Identifier: Apache-2.0
// The CUDA kernels of rms_norm.
#include <cstdint>

#include "xla_ffi_ops/cuda/launch_rows.cuh"
#include "xla_ffi_ops/ops/rms_norm/rms_norm.h"

namespace xla_ffi_ops::rms_norm {

template <typename T, typename W>
void Forward(Cuda device, int64_t begin, int64_t end, int64_t cols,
             Accumulator<T> eps, Rows<const T> x, Rows<const W> scale, T* y,
             Accumulator<T>* rstd) {
  LaunchRows(device, ForwardFormula<Accumulator<T>>{eps, rstd},
             {begin, 1, end - begin, cols}, Operands{x},
             Operands{Weight<W>{scale, 1}}, Operands{y}, kNoSums<T, W>);
}

template <typename T, typename W>
void Backward(Cuda device, int64_t groups, int64_t rows, int64_t cols,
              Rows<const T> x, Rows<const W> scale,
              Rows<const Accumulator<T>> rstd, Rows<const T> dy, T* dx,
              Workspace<W, Accumulator<T>> dscale) {
  LaunchRows(device, BackwardFormula<Accumulator<T>>{rstd},
             {0, groups, rows, cols}, Operands{x, dy},
             Operands{Weight<W>{scale, 1}}, Operands{dx}, Operands{dscale});
}

#define INSTANTIATE(T, W)                                                   \
  template void Forward(Cuda, int64_t, int64_t, int64_t, Accumulator<T>,    \
                        Rows<const T>, Rows<const W>, T*, Accumulator<T>*); \
  template void Backward(Cuda, int64_t, int64_t, int64_t, Rows<const T>,    \
                         Rows<const W>, Rows<const Accumulator<T>>,         \
                         Rows<const T>, T*, Workspace<W, Accumulator<T>>);
XLA_FFI_OPS_WEIGHTED_TYPES(INSTANTIATE)

}  // namespace xla_ffi_ops::rms_norm
