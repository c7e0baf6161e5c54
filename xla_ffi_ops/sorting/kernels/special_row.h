// SPDX-License-Identifier: Apache-2.0
// A long row whose values are sorted: its zeros and NaNs.
#ifndef XLA_FFI_OPS_SORTING_KERNELS_SPECIAL_ROW_H_
#define XLA_FFI_OPS_SORTING_KERNELS_SPECIAL_ROW_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "xla_ffi_ops/sorting/kernels/sort_kernels.h"
#include "xla_ffi_ops/sorting/keys/chunks.h"
#include "xla_ffi_ops/sorting/keys/row_keys.h"
#include "xla_ffi_ops/sorting/keys/special.h"

namespace xla_ffi_ops::internal {

template <typename U>
class SpecialRow : public LongRow {
 public:
  SpecialRow(const RowKeys<U>& keys, const U* x, U* y, int64_t n,
             int64_t chunks)
      : keys_(keys), x_(x), y_(y), chunks_{n, chunks}, stats_(chunks) {}

  void AfterFinish() override {
    if (!all_.has_special()) return;
    SpecialPlaces<U> next(keys_, all_, y_, chunks_.n);
    for (const Special& special : special_) {
      places_.push_back(next);
      next.Skip(special);
    }
  }

  void Repair(int64_t chunk) override {
    if (!all_.has_special()) return;
    places_[chunk].Write(keys_, x(chunk), length(chunk));
  }

 protected:
  const RowKeys<U>& keys() const { return keys_; }
  const Chunks& chunks() const { return chunks_; }
  U* y() const { return y_; }
  const U* x(int64_t chunk) const { return x_ + chunks_.begin(chunk); }
  int64_t length(int64_t chunk) const { return chunks_.length(chunk); }
  Stats<U>& stats(int64_t chunk) { return stats_[chunk]; }

  // The sum of those of all chunks.
  const Stats<U>& AddStats() {
    for (const Stats<U>& stats : stats_) all_.Add(stats);
    if (all_.has_special()) special_.resize(stats_.size());
    return all_;
  }

  void CountSpecials(int64_t chunk) {
    if (!all_.has_special()) return;
    special_[chunk] = CountSpecial(keys_.format, x(chunk), length(chunk));
  }

 private:
  const RowKeys<U> keys_;
  const U* const x_;
  U* const y_;
  const Chunks chunks_;
  std::vector<Stats<U>> stats_;
  Stats<U> all_;
  std::vector<Special> special_;
  std::vector<SpecialPlaces<U>> places_;
};

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SORTING_KERNELS_SPECIAL_ROW_H_
