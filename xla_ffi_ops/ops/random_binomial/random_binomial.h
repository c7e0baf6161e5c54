// SPDX-License-Identifier: Apache-2.0
// Binomially distributed numbers on the CPU.
#ifndef XLA_FFI_OPS_OPS_RANDOM_BINOMIAL_RANDOM_BINOMIAL_H_
#define XLA_FFI_OPS_OPS_RANDOM_BINOMIAL_RANDOM_BINOMIAL_H_

#include <cstdint>
#include <memory>

#include "xla_ffi_ops/random/array_kernel.h"
#include "xla_ffi_ops/vec/row_map.h"

namespace xla_ffi_ops {

// Rows of n numbers of trials, probabilities and results, with a key for each
// row.
struct BinomialDraws {
  Rows<const uint32_t> key;
  Rows<const float> trials;
  Rows<const float> probability;
  int64_t n;
  float* sample;
  bool partitionable;
};

std::unique_ptr<const random::ArrayKernel> BinomialKernel(
    const BinomialDraws& call);

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_OPS_RANDOM_BINOMIAL_RANDOM_BINOMIAL_H_
