// SPDX-License-Identifier: Apache-2.0
// Derivatives of gamma-distributed numbers on the CPU.
#ifndef XLA_FFI_OPS_OPS_RANDOM_GAMMA_GRAD_RANDOM_GAMMA_GRAD_H_
#define XLA_FFI_OPS_OPS_RANDOM_GAMMA_GRAD_RANDOM_GAMMA_GRAD_H_

#include <cstdint>

#include "xla_ffi_ops/vec/row_map.h"

namespace xla_ffi_ops {

// The derivative of each number with respect to its shape parameter, alpha.
template <typename T>
struct GammaGrads {
  Rows<const T> alpha;
  Rows<const T> sample;
  T* slope;
};

// Computes the derivatives [begin, end).
template <typename T>
void RunGammaGrads(const GammaGrads<T>& call, int64_t begin, int64_t end);

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_OPS_RANDOM_GAMMA_GRAD_RANDOM_GAMMA_GRAD_H_
