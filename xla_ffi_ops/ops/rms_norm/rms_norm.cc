// SPDX-License-Identifier: Apache-2.0
// The CPU kernels of rms_norm.
#include "xla_ffi_ops/ops/rms_norm/rms_norm.h"

#include "xla_ffi_ops/rows/cpu/cpu_kernels.h"

namespace xla_ffi_ops {

template struct Kernels<Cpu, rms_norm::ForwardFormula, rms_norm::RowTypes>;
template struct Kernels<Cpu, rms_norm::BackwardFormula, rms_norm::RowTypes>;

}  // namespace xla_ffi_ops
