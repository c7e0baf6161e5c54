// SPDX-License-Identifier: Apache-2.0
// Finds the indices that sort a long row in steps.
#ifndef XLA_FFI_OPS_SORTING_LONG_ARGSORT_H_
#define XLA_FFI_OPS_SORTING_LONG_ARGSORT_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "xla_ffi_ops/kit/cpu_level.h"
#include "xla_ffi_ops/sorting/buckets.h"
#include "xla_ffi_ops/sorting/keys.h"
#include "xla_ffi_ops/sorting/packed.h"
#include "xla_ffi_ops/sorting/row_kernel.h"

namespace xla_ffi_ops::internal {

template <typename U>
class LongArgsort final : public LongRow {
 public:
  LongArgsort(const Keyed<U>& keys, int32_t* y, int64_t n, bool reversed,
              int64_t chunks)
      : keys_(keys),
        y_(y),
        chunks_{n, chunks},
        reversed_(reversed),
        ranges_(chunks),
        packing_({}, n) {}

  void Scan(int64_t chunk) override {
    ranges_[chunk] = keys_.Find(chunks_.begin(chunk), chunks_.length(chunk));
  }

  void AfterScan() override {
    Range<U> all;
    for (const Range<U>& range : ranges_) {
      all.least = std::min(all.least, range.least);
      all.most = std::max(all.most, range.most);
    }
    packing_ = Packing<U>(all, chunks_.n);
    // As many cells as stay in the fastest cache.
    constexpr int kCellBits = 12;
    buckets_.Resize(all.most - all.least, kCellBits, chunks_.count);
  }

  void Count(int64_t chunk) override {
    if (is_equal()) return;
    AtCpuLevel([=, keys = keys_, counts = buckets_.counts(chunk),
                shift = buckets_.shift(), least = packing_.least,
                begin = chunks_.begin(chunk), end = chunks_.begin(chunk + 1)]()
                   XLA_FFI_OPS_INLINED {
                     for (int64_t i = begin; i < end; ++i) {
                       ++counts[static_cast<U>(keys[i] - least) >> shift];
                     }
                   });
  }

  void AfterCount() override {
    if (is_equal()) return;
    constexpr int64_t kLeast = 8 * 1024, kBuckets = 256;
    buckets_.Split(std::max(kLeast, chunks_.n / kBuckets));
    items_.reset(new uint64_t[chunks_.n]);
  }

  void Scatter(int64_t chunk) override {
    if (is_equal()) {
      for (int64_t i = chunks_.begin(chunk); i < chunks_.begin(chunk + 1);
           ++i) {
        *place(i) = static_cast<int32_t>(i);
      }
      return;
    }
    AtCpuLevel([=, keys = keys_, items = items_.get(), packing = packing_,
                at = buckets_.places(chunk), bucket_of = buckets_.bucket_of(),
                shift = buckets_.shift(), begin = chunks_.begin(chunk),
                end = chunks_.begin(chunk + 1)]() XLA_FFI_OPS_INLINED {
      for (int64_t i = begin; i < end; ++i) {
        const U key = keys[i];
        const U cell = static_cast<U>(key - packing.least) >> shift;
        items[at[bucket_of[cell]]++] = packing.template Pack<uint64_t>(key, i);
      }
    });
  }

  int64_t buckets() const override { return is_equal() ? 0 : buckets_.count(); }

  void Finish(int64_t bucket) override {
    const int64_t begin = buckets_.begin(bucket);
    const int64_t count = buckets_.end(bucket) - begin;
    const std::unique_ptr<uint64_t[]> more(new uint64_t[count]);
    internal::Finish(packing_, keys_, items_.get() + begin, count, more.get(),
                     place(begin), reversed_);
  }

 private:
  bool is_equal() const { return packing_.key_bits == 0; }
  int32_t* place(int64_t i) const {
    return reversed_ ? y_ + chunks_.n - 1 - i : y_ + i;
  }

  const Keyed<U> keys_;
  int32_t* const y_;
  const Chunks chunks_;
  const bool reversed_;
  std::vector<Range<U>> ranges_;
  Packing<U> packing_;
  Buckets buckets_;
  std::unique_ptr<uint64_t[]> items_;
};

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SORTING_LONG_ARGSORT_H_
