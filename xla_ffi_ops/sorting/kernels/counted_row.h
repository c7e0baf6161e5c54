// SPDX-License-Identifier: Apache-2.0
// Sorts a long row of values of 8 or 16 bits by counting.
#ifndef XLA_FFI_OPS_SORTING_KERNELS_COUNTED_ROW_H_
#define XLA_FFI_OPS_SORTING_KERNELS_COUNTED_ROW_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "xla_ffi_ops/sorting/kernels/special_row.h"
#include "xla_ffi_ops/sorting/keys/row_keys.h"
#include "xla_ffi_ops/vec/cpu_level.h"
#include "xla_ffi_ops/vec/device.h"

namespace xla_ffi_ops::internal {

template <typename U>
class CountedRow final : public SpecialRow<U> {
 public:
  using SpecialRow<U>::SpecialRow;

  void Scan(int64_t chunk) override {
    this->stats(chunk) = this->keys().Scan(this->x(chunk), this->length(chunk));
  }

  void AfterScan() override {
    const Stats<U>& all = this->AddStats();
    least_ = all.least;
    ranks_ = int64_t{all.most} - all.least + 1;
    counts_.resize(this->chunks().count * ranks_);
  }

  void Count(int64_t chunk) override {
    this->CountSpecials(chunk);
    AtCpuLevel(
        [keys = this->keys(), x = this->x(chunk), n = this->length(chunk),
         least = least_, counts = counts_.data() + chunk * ranks_]()
            XLA_FFI_OPS_INLINED {
              for (int64_t i = 0; i < n; ++i) {
                ++counts[static_cast<U>(keys.Rank(x[i]) - least)];
              }
            });
  }

  // Consecutive ranks make buckets of about `size` elements.
  void AfterCount() override {
    const int64_t size = std::max<int64_t>(16 * 1024, this->chunks().n / 256);
    begins_.reserve(ranks_ + 1);
    int64_t end = 0;
    for (int64_t rank = 0; rank < ranks_; ++rank) {
      if (first_ranks_.empty() || end >= begins_[first_ranks_.back()] + size) {
        first_ranks_.push_back(rank);
      }
      begins_.push_back(end);
      for (int64_t c = 0; c < this->chunks().count; ++c) {
        end += counts_[c * ranks_ + rank];
      }
    }
    first_ranks_.push_back(ranks_);
    begins_.push_back(end);
  }

  void Scatter(int64_t) override {}

  int64_t buckets() const override {
    return static_cast<int64_t>(first_ranks_.size()) - 1;
  }

  void Finish(int64_t bucket) override {
    for (int64_t rank = first_ranks_[bucket]; rank < first_ranks_[bucket + 1];
         ++rank) {
      std::fill(this->y() + begins_[rank], this->y() + begins_[rank + 1],
                this->keys().OfRank(static_cast<U>(least_ + rank)));
    }
  }

 private:
  U least_ = 0;  // Ranks are counted from here.
  int64_t ranks_ = 0;
  std::vector<uint32_t> counts_;  // of each rank in each chunk
  std::vector<int64_t> begins_;   // of each rank in y
  std::vector<int64_t> first_ranks_;
};

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SORTING_KERNELS_COUNTED_ROW_H_
