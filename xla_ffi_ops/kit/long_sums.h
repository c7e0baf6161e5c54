// SPDX-License-Identifier: Apache-2.0
// Sums over many rows on the CPU.
#ifndef XLA_FFI_OPS_KIT_LONG_SUMS_H_
#define XLA_FFI_OPS_KIT_LONG_SUMS_H_

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
      : block(result),
        result_(result),
        cols_(cols),
        block_sums_(m * cols),
        totals_(m * cols) {
    for (int i = 0; i < m && cols > 0; ++i) {
      block.data[i] = block_sums_.data() + i * cols;
    }
  }
  LongSums(const LongSums&) = delete;

  XLA_FFI_OPS_HD void Add() {
    const int64_t size = m * cols_;
#pragma omp simd
    for (int64_t j = 0; j < size; ++j) totals_[j].Add(block_sums_[j]);
  }
  XLA_FFI_OPS_HD void Finish() {
    for (int i = 0; i < m; ++i) {
      for (int64_t j = 0; j < cols_; ++j) {
        result_.data[i][j] = totals_[i * cols_ + j].value();
      }
    }
  }

  Outputs<Acc, m> block;  // where its sums go

 private:
  Outputs<Acc, m> result_;
  int64_t cols_;
  std::vector<Acc> block_sums_;
  std::vector<Compensated<Acc>> totals_;
};

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_KIT_LONG_SUMS_H_
