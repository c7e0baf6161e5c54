// SPDX-License-Identifier: Apache-2.0
// The CUDA kernels of softmax.
#include "xla_ffi_ops/ops/softmax/softmax.h"
#include "xla_ffi_ops/rows/cuda/launch_rows.cuh"

namespace xla_ffi_ops {

template struct Kernels<Cuda, softmax::ForwardFormula, softmax::RowTypes>;
template struct Kernels<Cuda, softmax::BackwardFormula, softmax::RowTypes>;

}  // namespace xla_ffi_ops
