// SPDX-License-Identifier: Apache-2.0
// The CUDA kernels of rms_norm.
#include "xla_ffi_ops/ops/rms_norm/rms_norm.h"
#include "xla_ffi_ops/rows/cuda/launch_rows.cuh"

namespace xla_ffi_ops {

template struct Kernels<Cuda, rms_norm::ForwardFormula, rms_norm::RowTypes>;
template struct Kernels<Cuda, rms_norm::BackwardFormula, rms_norm::RowTypes>;

}  // namespace xla_ffi_ops
