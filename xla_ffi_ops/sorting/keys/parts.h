// SPDX-License-Identifier: Apache-2.0
// How threads share the work of sorting the keys of a long row.
//
// A sample of the keys tells where to split them into parts of about the same
// size. Each chunk is partitioned in place. Then the keys of each part are
// copied together from all chunks, and sorted.
#ifndef XLA_FFI_OPS_SORTING_KEYS_PARTS_H_
#define XLA_FFI_OPS_SORTING_KEYS_PARTS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "xla_ffi_ops/sorting/keys/chunks.h"
#include "xla_ffi_ops/vec/sort/sort_keys.h"

namespace xla_ffi_ops::internal {

template <typename Key>
class Parts {
 public:
  // Enough parts for threads to end at about the same time.
  static constexpr int64_t kCount = 16;

  explicit Parts(const Chunks& chunks)
      : chunks_(chunks), places_(chunks.count * kCount) {}

  // Chooses where parts begin, by a sample of keys: at(i) is that of element i.
  template <typename At>
  void Choose(At at) {
    // Per part. The largest part is then about a fifth larger than the mean.
    constexpr int64_t kSamples = 128;
    std::vector<Key> samples(kCount * kSamples);
    const int64_t count = kCount * kSamples;
    for (int64_t i = 0; i < count; ++i) {
      // Floating point does not overflow here.
      samples[i] = at(static_cast<int64_t>(i / double{count} * chunks_.n));
    }
    SortKeys(samples.data(), count);
    for (int64_t part = 1; part < kCount; ++part) {
      firsts_[part] = samples[part * kSamples];
    }
  }

  // Partitions the keys of a chunk in place.
  void Partition(int64_t chunk, Key* keys) {
    Partition(keys, chunks_.length(chunk), 0, kCount, places(chunk));
  }

  // Once all chunks are partitioned: computes where their parts go.
  void Place() {
    int64_t at = 0;
    for (int64_t part = 0; part < kCount; ++part) {
      begins_[part] = at;
      for (int64_t c = 0; c < chunks_.count; ++c) {
        const int64_t length = places(c)[part];
        places(c)[part] = at;
        at += length;
      }
    }
    begins_[kCount] = at;
  }

  // Copies the keys of a chunk to their parts.
  void Scatter(int64_t chunk, const Key* keys, Key* to) {
    for (int64_t part = 0; part < kCount; ++part) {
      const int64_t end = chunk + 1 < chunks_.count ? places(chunk + 1)[part]
                                                    : begins_[part + 1];
      const int64_t begin = places(chunk)[part];
      std::copy_n(keys, end - begin, to + begin);
      keys += end - begin;
    }
  }

  int64_t begin(int64_t part) const { return begins_[part]; }
  int64_t length(int64_t part) const {
    return begins_[part + 1] - begins_[part];
  }

 private:
  // The number of keys that a chunk has of each part; then where they go.
  int64_t* places(int64_t chunk) { return places_.data() + chunk * kCount; }

  void Partition(Key* keys, int64_t n, int64_t begin, int64_t end,
                 int64_t* lengths) const {
    if (end - begin == 1) {
      lengths[begin] = n;
      return;
    }
    const int64_t middle = (begin + end) / 2;
    const int64_t less = PartitionKeys(keys, n, firsts_[middle]);
    Partition(keys, less, begin, middle, lengths);
    Partition(keys + less, n - less, middle, end, lengths);
  }

  const Chunks chunks_;
  Key firsts_[kCount] = {};
  int64_t begins_[kCount + 1] = {};
  std::vector<int64_t> places_;
};

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SORTING_KEYS_PARTS_H_
