// SPDX-License-Identifier: Apache-2.0
// Sorts the values of a long row in steps.
#ifndef XLA_FFI_OPS_SORTING_LONG_SORT_H_
#define XLA_FFI_OPS_SORTING_LONG_SORT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "xla_ffi_ops/kit/cpu_level.h"
#include "xla_ffi_ops/kit/device.h"
#include "xla_ffi_ops/sorting/buckets.h"
#include "xla_ffi_ops/sorting/keys.h"
#include "xla_ffi_ops/sorting/places.h"
#include "xla_ffi_ops/sorting/row_kernel.h"
#include "xla_ffi_ops/sorting/row_stats.h"
#include "xla_ffi_ops/sorting/sort_keys.h"

namespace xla_ffi_ops::internal {

// For several threads, and for elements of 8 and of 16 bits, which are counted.
// On one thread, SortKeys alone takes half the time for others.
template <typename U>
class LongSort final : public LongRow {
  using Key = SortedKey<U>;

 public:
  LongSort(const KeyFormat<U>& format, const U* x, U* y, int64_t n,
           bool reversed, int64_t chunks)
      : format_(format),
        x_(x),
        chunks_{n, chunks},
        stats_(chunks),
        special_(chunks) {
    places_.y = y;
    places_.n = n;
    places_.reversed = reversed;
  }

  void Scan(int64_t chunk) override {
    stats_[chunk] = internal::Scan(format_, begin(chunk), length(chunk));
  }

  void AfterScan() override {
    Stats<U> all;
    for (const Stats<U>& stats : stats_) all.Add(stats);
    zeros_differ_ = all.zeros_differ;
    has_special_ = all.has_special();
    if (zeros_differ_) CountZeros(&all);
    places_ = PlacesOf(format_, all, places_.y, places_.n, places_.reversed);
    ordinary_ = places_.n - places_.zeros - places_.nans;
    Special next{places_.zeros_begin, places_.n - places_.nans};
    for (size_t c = 0; c < stats_.size(); ++c) {
      special_[c] = next;
      next.zero_place += stats_[c].zeros;
      next.nan_place += stats_[c].nans;
    }
    least_ = all.least;
    const uint64_t range = ordinary_ == 0 ? 0 : all.most - all.least;
    // Up to 2^16 keys are counted, and all is known; of more, the first step
    // is one of 2^12 cells, which do not leave the fastest cache.
    const int width = internal::BitWidth(range);
    counted_ = width <= 16 && (width <= 12 || ordinary_ >= (1 << 17));
    buckets_.Resize(range, counted_ ? 16 : 12, chunks_.count);
  }

  void Count(int64_t chunk) override {
    uint32_t* const counts = buckets_.counts(chunk);
    const int64_t n = length(chunk);
    const U* const x = begin(chunk);
    if (buckets_.cells() == 1 && !has_special_) {
      counts[0] = static_cast<uint32_t>(n);
      return;
    }
    AtCpuLevel([&, f = format_, shift = buckets_.shift(),
                least = least_]() XLA_FFI_OPS_INLINED {
      if (!has_special_) {
        for (int64_t i = 0; i < n; ++i) {
          ++counts[static_cast<U>(f.Key(x[i]) - least) >> shift];
        }
        return;
      }
      const auto none = static_cast<uint64_t>(buckets_.cells());
      for (int64_t i = 0; i < n; ++i) {
        const bool ordinary =
            !(f.IsNan(x[i]) | (zeros_differ_ & f.IsZero(x[i])));
        const uint64_t cell = static_cast<U>(f.Key(x[i]) - least) >> shift;
        ++counts[ordinary ? cell : none];
      }
    });
  }

  void AfterCount() override {
    constexpr int64_t kLeast = 16 * 1024, kBuckets = 256;
    buckets_.Split(std::max(kLeast, ordinary_ / kBuckets));
    if (!counted_) keys_.reset(new Key[ordinary_]);
  }

  void Scatter(int64_t chunk) override {
    if (counted_ && !has_special_) return;
    const U* const x = begin(chunk);
    AtCpuLevel([&, f = format_, shift = buckets_.shift(), least = least_,
                keys = keys_.get(), bucket_of = buckets_.bucket_of(),
                at = buckets_.places(chunk)]() XLA_FFI_OPS_INLINED {
      const auto scatter = [=](const U* bits,
                               int64_t count) XLA_FFI_OPS_INLINED {
        for (int64_t i = 0; i < count; ++i) {
          const U key = f.Key(bits[i]);
          keys[at[bucket_of[static_cast<U>(key - least) >> shift]]++] = key;
        }
      };
      if (!has_special_) return scatter(x, length(chunk));
      SplitSpecial(places_, zeros_differ_, x, length(chunk), special_[chunk],
                   [&](const U* bits, int64_t count) XLA_FFI_OPS_INLINED {
                     if (!counted_) scatter(bits, count);
                   });
    });
  }

  int64_t buckets() const override { return buckets_.count(); }

  void Finish(int64_t bucket) override {
    const int64_t begin = buckets_.begin(bucket);
    const int64_t count = buckets_.end(bucket) - begin;
    if (!counted_) {
      SortKeys(keys_.get() + begin, count);
      return places_.WriteKeys(begin, count, keys_.get() + begin);
    }
    int64_t at = begin;
    for (int64_t cell = buckets_.first_cell(bucket);
         cell < buckets_.first_cell(bucket + 1); ++cell) {
      const U bits = format_.Bits(static_cast<U>(least_ + cell));
      places_.WriteEqual(at, buckets_.total(cell), bits);
      at += buckets_.total(cell);
    }
  }

 private:
  const U* begin(int64_t chunk) const { return x_ + chunks_.begin(chunk); }
  int64_t length(int64_t chunk) const { return chunks_.length(chunk); }

  // Chunks without a zero or NaN that is special have not counted.
  void CountZeros(Stats<U>* all) {
    *all = Stats<U>();
    for (size_t c = 0; c < stats_.size(); ++c) {
      Stats<U>& stats = stats_[c];
      if (!stats.has_special()) {
        const U* const x = begin(c);
        for (int64_t i = 0; i < length(c); ++i) {
          const bool zero = format_.IsZero(x[i]);
          stats.zeros += zero;
          stats.negatives += format_.IsNegative(x[i]) & !zero;
        }
      }
      all->Add(stats);
    }
  }

  const KeyFormat<U> format_;
  const U* const x_;
  const Chunks chunks_;
  std::vector<Stats<U>> stats_;
  std::vector<Special> special_;
  Places<U> places_;
  bool zeros_differ_ = false;
  bool has_special_ = false;
  bool counted_ = false;
  int64_t ordinary_ = 0;
  U least_ = 0;
  Buckets buckets_;
  std::unique_ptr<Key[]> keys_;
};

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SORTING_LONG_SORT_H_
