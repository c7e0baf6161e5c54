// SPDX-License-Identifier: Apache-2.0
// Partitions a long row.
#ifndef XLA_FFI_OPS_SORTING_KERNELS_PARTITION_ROW_H_
#define XLA_FFI_OPS_SORTING_KERNELS_PARTITION_ROW_H_

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <vector>

#include "xla_ffi_ops/sorting/kernels/sort_kernels.h"
#include "xla_ffi_ops/sorting/keys/chunks.h"
#include "xla_ffi_ops/sorting/keys/key_buffer.h"
#include "xla_ffi_ops/sorting/keys/row_keys.h"
#include "xla_ffi_ops/sorting/keys/selection.h"
#include "xla_ffi_ops/sorting/keys/sides.h"
#include "xla_ffi_ops/vec/sort/sort_keys.h"

namespace xla_ffi_ops::internal {

// Copies elements of x, from `first` on, or their indices, to their sides.
template <typename U, typename Out>
void SplitRow(const RowKeys<U>& keys, const U* x, int64_t first, int64_t n,
              typename RowKeys<U>::Key pivot, Sides<Out>* sides) {
  typename RowKeys<U>::Key room[kSideBlock];
  for (const int64_t end = first + n; first < end; first += kSideBlock) {
    const int64_t size = std::min(end - first, kSideBlock);
    const auto* const own = keys.Find(x + first, size, room);
    if constexpr (std::is_same_v<Out, U>) {
      CopyToSides(own, x + first, size, pivot, pivot, sides);
    } else {
      Out indices[kSideBlock];
      std::iota(indices, indices + size, static_cast<Out>(first));
      CopyToSides(own, indices, size, pivot, pivot, sides);
    }
  }
}

template <typename U, typename Out>
class PartitionRow final : public LongRow {
  using Key = typename RowKeys<U>::Key;

 public:
  PartitionRow(const RowKeys<U>& keys, const U* x, Out* y, int64_t n,
               int64_t kth, int64_t chunks)
      : keys_(keys),
        x_(x),
        y_(y),
        kth_(kth),
        chunks_{n, chunks},
        bracket_(Bracket<Key>::Of(keys, x, n, kth)),
        between_(chunks),
        counts_(chunks) {}

  void Scan(int64_t chunk) override {
    between_[chunk].Find(keys_, bracket_, x_ + chunks_.begin(chunk),
                         chunks_.length(chunk));
  }

  void AfterScan() override {
    Between<Key> all;
    for (const Between<Key>& some : between_) {
      all.low.Add(some.low);
      all.high.Add(some.high);
      all.keys.insert(all.keys.end(), some.keys.begin(), some.keys.end());
    }
    if (all.low.below <= kth_ && kth_ < all.low.up_to) {
      pivot_ = bracket_.least;
    } else if (all.high.below <= kth_ && kth_ < all.high.up_to) {
      pivot_ = bracket_.most;
    } else if (all.low.below <= kth_ && kth_ < all.high.up_to) {
      const int64_t kth = kth_ - all.low.up_to;
      SelectKeys(all.keys.data(), all.keys.size(), kth);
      pivot_ = all.keys[kth];
    } else {
      SelectOfAll();
    }
  }

  void Count(int64_t chunk) override {
    Between<Key>& own = between_[chunk];
    if (is_missed_) {
      own = {};
      Scan(chunk);
    }
    counts_[chunk] = own.Around(bracket_, pivot_);
  }

  void AfterCount() override {
    Counts all;
    for (const Counts& counts : counts_) all.Add(counts);
    Out* next[] = {y_, y_ + all.below, y_ + all.up_to};
    for (int64_t c = 0; c < chunks_.count; ++c) {
      const auto [below, up_to] = counts_[c];
      const int64_t lengths[] = {below, up_to - below,
                                 chunks_.length(c) - up_to};
      Sides<Out> sides;
      for (int side = 0; side < 3; ++side) {
        sides.next[side] = next[side];
        sides.end[side] = next[side] += lengths[side];
      }
      sides_.push_back(sides);
    }
  }

  void Scatter(int64_t chunk) override {
    SplitRow(keys_, x_, chunks_.begin(chunk), chunks_.length(chunk), pivot_,
             &sides_[chunk]);
  }

  int64_t buckets() const override { return 0; }
  void Finish(int64_t) override {}

 private:
  // The sample has misled.
  void SelectOfAll() {
    const KeyBuffer<Key> written(chunks_.n);
    keys_.Encode(x_, chunks_.n, written.get());
    SelectKeys(written.get(), chunks_.n, kth_);
    pivot_ = written.get()[kth_];
    bracket_ = {pivot_, pivot_};
    is_missed_ = true;
  }

  const RowKeys<U> keys_;
  const U* const x_;
  Out* const y_;
  const int64_t kth_;
  const Chunks chunks_;
  Bracket<Key> bracket_;
  bool is_missed_ = false;
  std::vector<Between<Key>> between_;
  Key pivot_ = 0;
  std::vector<Counts> counts_;
  std::vector<Sides<Out>> sides_;
};

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SORTING_KERNELS_PARTITION_ROW_H_
