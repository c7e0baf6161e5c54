// SPDX-License-Identifier: Apache-2.0
// The CUDA kernels of softmax.
#include <cstdint>

#include "xla_ffi_ops/cuda/launch_rows.cuh"
#include "xla_ffi_ops/ops/softmax/softmax.h"

namespace xla_ffi_ops::softmax {

template <typename T>
void Forward(Cuda device, int64_t begin, int64_t end, int64_t cols,
             Rows<const T> x, T* y) {
  LaunchRows(device, ForwardFormula<Accumulator<T>>{},
             {begin, 1, end - begin, cols}, Operands{x}, kNoWeights<T>,
             Operands{y}, kNoSums<T, T>);
}

template <typename T>
void Backward(Cuda device, int64_t begin, int64_t end, int64_t cols,
              Rows<const T> y, Rows<const T> dy, T* dx) {
  LaunchRows(device, BackwardFormula<Accumulator<T>>{},
             {begin, 1, end - begin, cols}, Operands{y, dy}, kNoWeights<T>,
             Operands{dx}, kNoSums<T, T>);
}

#define INSTANTIATE(T)                                                       \
  template void Forward(Cuda, int64_t, int64_t, int64_t, Rows<const T>, T*); \
  template void Backward(Cuda, int64_t, int64_t, int64_t, Rows<const T>,     \
                         Rows<const T>, T*);
XLA_FFI_OPS_TYPES(INSTANTIATE)

}  // namespace xla_ffi_ops::softmax
