// SPDX-License-Identifier: Apache-2.0
// The CPU kernels of softmax.
#include "xla_ffi_ops/ops/softmax/softmax.h"

#include <cstdint>

#include "xla_ffi_ops/kit/run_rows.h"

namespace xla_ffi_ops::softmax {

template <typename T>
XLA_FFI_OPS_CPU_KERNEL void Forward(Cpu cpu, int64_t begin, int64_t end,
                                    int64_t cols, Rows<const T> x, T* y) {
  using Acc = Accumulator<T>;
  RunRows(cpu, ForwardFormula<Acc>(), begin, end, cols, Outputs{y},
          kNoSums<Acc>, x);
}

template <typename T>
XLA_FFI_OPS_CPU_KERNEL void Backward(Cpu cpu, int64_t begin, int64_t end,
                                     int64_t cols, Rows<const T> y,
                                     Rows<const T> dy, T* dx) {
  using Acc = Accumulator<T>;
  RunRows(cpu, BackwardFormula<Acc>(), begin, end, cols, Outputs{dx},
          kNoSums<Acc>, y, dy);
}

#define INSTANTIATE(T)                                                         \
  template void Forward<T>(Cpu, int64_t, int64_t, int64_t, Rows<const T>, T*); \
  template void Backward<T>(Cpu, int64_t, int64_t, int64_t, Rows<const T>,     \
                            Rows<const T>, T*);
XLA_FFI_OPS_TYPES(INSTANTIATE)

}  // namespace xla_ffi_ops::softmax
