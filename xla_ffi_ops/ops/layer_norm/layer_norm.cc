// SPDX-License-Identifier: Apache-2.0
// The CPU kernels of layer_norm.
#include "xla_ffi_ops/ops/layer_norm/layer_norm.h"

#include "xla_ffi_ops/rows/cpu/cpu_kernels.h"

namespace xla_ffi_ops {

template struct Kernels<Cpu, layer_norm::ForwardFormula, layer_norm::RowTypes>;
template struct Kernels<Cpu, layer_norm::BackwardFormula, layer_norm::RowTypes>;

}  // namespace xla_ffi_ops
