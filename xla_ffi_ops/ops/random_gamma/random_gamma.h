// SPDX-License-Identifier: Apache-2.0
// Gamma-distributed numbers on the CPU.
#ifndef XLA_FFI_OPS_OPS_RANDOM_GAMMA_RANDOM_GAMMA_H_
#define XLA_FFI_OPS_OPS_RANDOM_GAMMA_RANDOM_GAMMA_H_

#include <cstdint>

#include "xla_ffi_ops/vec/row_map.h"

namespace xla_ffi_ops {

// A key and a shape parameter for each number, or for its logarithm.
template <typename T>
struct GammaDraws {
  Rows<const uint32_t> key;
  Rows<const T> alpha;
  T* sample;
  bool log_space;
  bool partitionable;
  double log1p_from;  // of random/xla_math.h
};

// Draws the numbers [begin, end).
template <typename T>
void RunGamma(const GammaDraws<T>& call, int64_t begin, int64_t end);

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_OPS_RANDOM_GAMMA_RANDOM_GAMMA_H_
