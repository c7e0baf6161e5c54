// SPDX-License-Identifier: Apache-2.0
// Sums over many rows on the CPU.
#ifndef XLA_FFI_OPS_ROWS_CPU_LONG_SUMS_H_
#define XLA_FFI_OPS_ROWS_CPU_LONG_SUMS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "xla_ffi_ops/vec/compensated.h"
#include "xla_ffi_ops/vec/device.h"

namespace xla_ffi_ops::internal {

// n arrays of the same rows.
template <typename T, int n>
struct ColumnSums {
  static constexpr int kSize = n;
  T* data[n > 0 ? n : 1];

  XLA_FFI_OPS_HD ColumnSums At(int64_t offset) const {
    ColumnSums at = *this;
    for (int i = 0; i < n; ++i) at.data[i] += offset;
    return at;
  }
};

// How many rows are summed without compensation.
inline constexpr int64_t kSumBlockRows = 64;

// totals[j] += terms[j], with vectors for these two types.
template <typename Sum>
void AddEach(const Sum* terms, Compensated<Sum>* totals, int64_t n) {
  for (int64_t j = 0; j < n; ++j) totals[j].Add(terms[j]);
}
void AddEach(const float* terms, Compensated<float>* totals, int64_t n);
void AddEach(const double* terms, Compensated<double>* totals, int64_t n);

// m sums over `rows` rows, from those over blocks of rows.
template <typename Acc, int m>
class LongSums {
 public:
  // A sum that is not wanted is null.
  LongSums(Acc* const* sums, int64_t cols, int64_t rows)
      : cols_(cols), is_long_(rows > kSumBlockRows) {
    std::copy_n(sums, m, sums_);
    std::copy_n(sums, m, block_.data);
    if (is_long_) totals_.resize(m * cols);
    if (is_long_ || std::count(sums, sums + m, nullptr) > 0) {
      block_sums_.resize(m * cols);
      for (int i = 0; i < m; ++i) {
        if (!is_long_ && sums[i] != nullptr) continue;
        block_.data[i] = block_sums_.data() + i * cols;
      }
    }
  }
  LongSums(const LongSums&) = delete;

  // Where the sums over a block are to be added up: zeros.
  const ColumnSums<Acc, m>& Begin() {
    for (Acc* sums : block_.data) std::fill_n(sums, cols_, 0);
    return block_;
  }
  // After each block.
  void Add() {
    if (is_long_) AddEach(block_sums_.data(), totals_.data(), m * cols_);
  }
  // After the last one.
  void Finish() {
    for (int i = 0; i < m && is_long_; ++i) {
      if (sums_[i] == nullptr) continue;
      std::transform(totals_.data() + i * cols_,
                     totals_.data() + (i + 1) * cols_, sums_[i],
                     [](const Compensated<Acc>& sum) { return sum.value(); });
    }
  }

 private:
  int64_t cols_;
  bool is_long_;  // or the sums over the only block are the result
  Acc* sums_[m];
  ColumnSums<Acc, m> block_;
  std::vector<Acc> block_sums_;
  std::vector<Compensated<Acc>> totals_;
};

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_ROWS_CPU_LONG_SUMS_H_
