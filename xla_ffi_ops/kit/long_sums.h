// SPDX-License-Identifier: Apache-2.0
// Sums over many rows on the CPU.
#ifndef XLA_FFI_OPS_KIT_LONG_SUMS_H_
#define XLA_FFI_OPS_KIT_LONG_SUMS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "xla_ffi_ops/kit/compensated.h"
#include "xla_ffi_ops/kit/device.h"
#include "xla_ffi_ops/kit/outputs.h"

namespace xla_ffi_ops::internal {

// Sums over many rows, from those over blocks of rows.
template <typename Acc, int m>
class LongSums {
 public:
  // With no columns, the sums of the only block are the result.
  LongSums(const Outputs<Acc, m>& result, int64_t cols)
      : block(result), result_(result), cols_(cols), memory_(2 * m * cols) {
    for (int i = 0; i < m && cols > 0; ++i) {
      block.data[i] = memory_.data() + i * cols;
      std::fill_n(result.data[i], cols, 0);
    }
  }
  LongSums(const LongSums&) = delete;

  HD void Add() {
    ForEach([](Acc block, Acc& sum, Acc& rest) INLINED {
      Compensated<Acc> total{sum, rest};
      total.Add(block);
      sum = total.sum;
      rest = total.rest;
    });
  }
  HD void Finish() {
    ForEach([](Acc, Acc& sum, Acc& rest)
                INLINED { sum = Compensated<Acc>{sum, rest}.value(); });
  }

  Outputs<Acc, m> block;  // where its sums go

 private:
  template <typename Fn>
  HD void ForEach(Fn fn) {
    for (int i = 0; i < m; ++i) {
      const Acc* const from = block.data[i];
      Acc* const sum = result_.data[i];
      Acc* const rest = memory_.data() + (m + i) * cols_;
#pragma omp simd
      for (int64_t j = 0; j < cols_; ++j) fn(from[j], sum[j], rest[j]);
    }
  }

  Outputs<Acc, m> result_;
  int64_t cols_;
  std::vector<Acc> memory_;  // the block's sums, and what the result's lack
};

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_KIT_LONG_SUMS_H_
