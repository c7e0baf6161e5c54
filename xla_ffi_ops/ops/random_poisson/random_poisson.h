// SPDX-License-Identifier: Apache-2.0
// Poisson-distributed numbers on the CPU.
#ifndef XLA_FFI_OPS_OPS_RANDOM_POISSON_RANDOM_POISSON_H_
#define XLA_FFI_OPS_OPS_RANDOM_POISSON_RANDOM_POISSON_H_

#include <cstdint>
#include <memory>

#include "xla_ffi_ops/random/array_kernel.h"
#include "xla_ffi_ops/vec/row_map.h"

namespace xla_ffi_ops {

// Rows of n rates and counts, with a key for each row.
struct PoissonDraws {
  Rows<const uint32_t> key;
  Rows<const float> rate;
  int64_t n;
  void* count;
  bool wide;  // Counts are int64, and not int32.
  bool partitionable;
  bool lanczos;  // Whether lgamma is XLA's, by that sum, or jax's (from 0.12).
};

std::unique_ptr<const random::ArrayKernel> PoissonKernel(
    const PoissonDraws& call);

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_OPS_RANDOM_POISSON_RANDOM_POISSON_H_
