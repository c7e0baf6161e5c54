// SPDX-License-Identifier: Apache-2.0
// The CUDA kernels of add_rms_norm.
#include "xla_ffi_ops/ops/add_rms_norm/add_rms_norm.h"
#include "xla_ffi_ops/rows/cuda/launch_rows.cuh"

namespace xla_ffi_ops {

template struct Kernels<Cuda, add_rms_norm::ForwardFormula,
                        add_rms_norm::RowTypes>;
template struct Kernels<Cuda, add_rms_norm::BackwardFormula,
                        add_rms_norm::RowTypes>;

}  // namespace xla_ffi_ops
