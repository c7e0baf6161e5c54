// SPDX-License-Identifier: Apache-2.0
// Finds the indices that sort a long row whose keys are close to each other, by
// counting them.
#ifndef XLA_FFI_OPS_SORTING_KERNELS_COUNTED_ARGSORT_H_
#define XLA_FFI_OPS_SORTING_KERNELS_COUNTED_ARGSORT_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "xla_ffi_ops/sorting/keys/chunks.h"
#include "xla_ffi_ops/sorting/keys/packed.h"
#include "xla_ffi_ops/sorting/keys/sides.h"
#include "xla_ffi_ops/vec/cpu_level.h"
#include "xla_ffi_ops/vec/device.h"

namespace xla_ffi_ops::internal {

template <typename U>
class CountedArgsort {
 public:
  // Whether it takes less time than a sort, for n keys in a range.
  static bool Pays(const Range<U>& range, int64_t n) {
    constexpr int64_t kLong = 32 * 1024;
    constexpr int64_t kMostRanks = 64 * 1024;  // Their counts stay in a cache.
    const uint64_t most = std::min(kMostRanks, n / 2);
    return n >= kLong && static_cast<uint64_t>(range.most - range.least) < most;
  }

  CountedArgsort(const Keyed<U>& keys, const Range<U>& range,
                 const Chunks& chunks, int32_t* y, bool reversed)
      : keys_(keys),
        least_(range.least),
        ranks_(static_cast<int64_t>(range.most - range.least) + 1),
        chunks_(chunks),
        y_(y),
        reversed_(reversed),
        counts_(chunks.count * ranks_) {}

  void Count(int64_t chunk) {
    uint32_t* const counts = counts_.data() + chunk * ranks_;
    ForRanks(chunk, [=](uint32_t rank, int64_t) { ++counts[rank]; });
  }

  // Once all chunks are counted: computes where their elements go.
  void Place() {
    uint32_t at = 0;
    for (int64_t rank = 0; rank < ranks_; ++rank) {
      for (int64_t c = 0; c < chunks_.count; ++c) {
        uint32_t& count = counts_[c * ranks_ + rank];
        at += count;
        count = at - count;
      }
    }
  }

  void Scatter(int64_t chunk) {
    uint32_t* const next = counts_.data() + chunk * ranks_;
    int32_t* const y = reversed_ ? y_ + chunks_.n - 1 : y_;
    const int64_t step = reversed_ ? -1 : 1;
    ForRanks(chunk, [=](uint32_t rank, int64_t i) {
      y[step * int64_t{next[rank]++}] = static_cast<int32_t>(i);
    });
  }

 private:
  // Calls visit(rank, i) for the elements of a chunk, whose indices are i.
  template <typename Visit>
  void ForRanks(int64_t chunk, Visit visit) const {
    uint32_t ranks[kSideBlock];
    const int64_t end = chunks_.begin(chunk) + chunks_.length(chunk);
    for (int64_t begin = chunks_.begin(chunk); begin < end;
         begin += kSideBlock) {
      const int64_t size = std::min(end - begin, kSideBlock);
      AtCpuLevel([&ranks, all = size, keys = keys_, least = least_, begin]()
                     XLA_FFI_OPS_INLINED {
                       const Keyed<U> from = keys;
                       const int64_t n = all, first = begin;
                       const U zero = least;
                       for (int64_t i = 0; i < n; ++i) {
                         ranks[i] = static_cast<U>(from[first + i] - zero);
                       }
                     });
      for (int64_t i = 0; i < size; ++i) visit(ranks[i], begin + i);
    }
  }

  const Keyed<U> keys_;
  const U least_;
  const int64_t ranks_;
  const Chunks chunks_;
  int32_t* const y_;
  const bool reversed_;
  // Of each rank in each chunk; then where its next element goes.
  std::vector<uint32_t> counts_;
};

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SORTING_KERNELS_COUNTED_ARGSORT_H_
