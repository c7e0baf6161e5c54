// SPDX-License-Identifier: Apache-2.0
// The CPU kernels of softmax.
#include "xla_ffi_ops/ops/softmax/softmax.h"

#include "xla_ffi_ops/rows/cpu/cpu_kernels.h"

namespace xla_ffi_ops {

template struct Kernels<Cpu, softmax::ForwardFormula, softmax::RowTypes>;
template struct Kernels<Cpu, softmax::BackwardFormula, softmax::RowTypes>;

}  // namespace xla_ffi_ops
