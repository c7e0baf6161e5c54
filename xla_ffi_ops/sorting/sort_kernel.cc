// SPDX-License-Identifier: Apache-2.0
// Sorts the values of a row.
//
// Zeros, if they are not all the same, and NaNs are not sorted: they go to
// their places in their order. All other elements are sorted as keys.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

#include "xla_ffi_ops/kit/cpu_level.h"
#include "xla_ffi_ops/kit/device.h"
#include "xla_ffi_ops/sorting/buckets.h"
#include "xla_ffi_ops/sorting/keys.h"
#include "xla_ffi_ops/sorting/row_kernel.h"
#include "xla_ffi_ops/sorting/sort_keys.h"

namespace xla_ffi_ops {
namespace {

using internal::Buckets;
using internal::Chunks;

// A key as it is sorted: SortKeys has no narrower ones.
template <typename U>
using SortedKey = std::conditional_t<sizeof(U) == 8, uint64_t, uint32_t>;

// What is to be known of some elements before they are sorted.
template <typename U>
struct Stats {
  U least = KeyFormat<U>::kMost;  // key, but of NaNs
  U most = 0;
  bool zeros_differ = false;
  int64_t nans = 0;
  int64_t zeros = 0;      // if they differ, else they are ordinary
  int64_t negatives = 0;  // less than zeros

  void Add(const Stats& other) {
    least = std::min(least, other.least);
    most = std::max(most, other.most);
    zeros_differ |= other.zeros_differ;
    nans += other.nans;
    zeros += other.zeros;
    negatives += other.negatives;
  }
  bool has_special() const { return zeros_differ || nans > 0; }
};

template <typename U>
Stats<U> Scan(const KeyFormat<U>& format, const U* x, int64_t n) {
  Stats<U> stats;
  AtCpuLevel([&, f = format]() XLA_FFI_OPS_INLINED {
    U least = KeyFormat<U>::kMost, most = 0, nans = 0, odd_zeros = 0;
    for (int64_t i = 0; i < n; ++i) {
      const U bits = x[i], key = f.Key(bits), nan = f.NanMask(bits);
      const U low = key | nan, high = key & ~nan;
      least = low < least ? low : least;
      most = high > most ? high : most;
      nans |= nan;
      odd_zeros |= f.ZeroMask(bits) & bits;
    }
    stats.least = least;
    stats.most = most;
    stats.zeros_differ = odd_zeros != 0;
    if (nans == 0 && odd_zeros == 0) return;
    // As wide as most keys, so that vectors are: a chunk is not longer.
    uint32_t nan_count = 0, zero_count = 0, negative_count = 0;
    for (int64_t i = 0; i < n; ++i) {
      const U bits = x[i];
      const bool nan = f.IsNan(bits), zero = f.IsZero(bits);
      nan_count += nan;
      zero_count += zero;
      negative_count += f.IsNegative(bits) & !nan & !zero;
    }
    stats.nans = nan_count;
    stats.zeros = zero_count;
    stats.negatives = negative_count;
  });
  return stats;
}

// Where the elements of a sorted row are.
template <typename U>
struct Places {
  KeyFormat<U> format;
  U* y;
  int64_t n;
  bool reversed;
  int64_t zeros_begin = 0;
  int64_t zeros = 0;
  int64_t nans = 0;

  // Writes `count` elements from the place `begin` on.
  template <typename Get>
  XLA_FFI_OPS_HD void Write(int64_t begin, int64_t count, Get get) const {
    if (reversed) {
      U* const last = y + n - 1 - begin;
      for (int64_t i = 0; i < count; ++i) last[-i] = get(i);
    } else {
      U* const first = y + begin;
      for (int64_t i = 0; i < count; ++i) first[i] = get(i);
    }
  }
  // Writes equal ordinary elements, of which `begin` are less.
  void WriteEqual(int64_t begin, int64_t count, U bits) const {
    Write(begin < zeros_begin ? begin : begin + zeros, count,
          [=](int64_t) { return bits; });
  }
  // Writes ordinary elements, of which `begin` are less.
  template <typename Key>
  void WriteKeys(int64_t begin, int64_t count, const Key* keys) const {
    AtCpuLevel([=, *this]() XLA_FFI_OPS_INLINED {
      const auto get = [=](const Key* from) XLA_FFI_OPS_INLINED {
        return [=, f = format](int64_t i) XLA_FFI_OPS_INLINED {
          return f.Bits(static_cast<U>(from[i]));
        };
      };
      const int64_t below =
          std::clamp<int64_t>(zeros_begin - begin, 0, zeros == 0 ? 0 : count);
      Write(begin, below, get(keys));
      const int64_t moved = begin + below >= zeros_begin ? zeros : 0;
      Write(begin + below + moved, count - below, get(keys + below));
    });
  }
};

// The elements of a chunk that are to be written in their own order.
struct Special {
  int64_t zero_place;
  int64_t nan_place;
};

// Calls ordinary(bits, count) for blocks of ordinary elements, and writes the
// others.
template <typename U, typename Ordinary>
XLA_FFI_OPS_HD void SplitSpecial(const Places<U>& places, bool zeros_differ,
                                 const U* x, int64_t n, Special special,
                                 Ordinary ordinary) {
  constexpr int64_t kBlock = 512;
  // Without a branch, each element is stored in both.
  U keys[kBlock], others[kBlock];
  const KeyFormat<U> f = places.format;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = std::min(n, begin + kBlock);
    int64_t key_count = 0;
    for (int64_t i = begin; i < end; ++i) {
      const U bits = x[i];
      const bool other = f.IsNan(bits) | (zeros_differ & f.IsZero(bits));
      keys[key_count] = bits;
      others[i - begin - key_count] = bits;
      key_count += !other;
    }
    ordinary(keys, key_count);
    // Likewise: zeros, out of what are NaNs then.
    const int64_t other_count = end - begin - key_count;
    const U* zeros = others;
    int64_t zero_count = 0;
    if (zeros_differ) {
      for (int64_t i = 0; i < other_count; ++i) {
        const U bits = others[i];
        keys[zero_count] = bits;
        others[i - zero_count] = bits;
        zero_count += !f.IsNan(bits);
      }
      zeros = keys;
    }
    const int64_t nan_count = other_count - zero_count;
    places.Write(special.zero_place, zero_count,
                 [&](int64_t i) XLA_FFI_OPS_INLINED { return zeros[i]; });
    places.Write(special.nan_place, nan_count,
                 [&](int64_t i)
                     XLA_FFI_OPS_INLINED { return f.Nan(others[i]); });
    special.zero_place += zero_count;
    special.nan_place += nan_count;
  }
}

template <typename U>
Places<U> PlacesOf(const KeyFormat<U>& format, const Stats<U>& stats, U* y,
                   int64_t n, bool reversed) {
  Places<U> places{format, y, n, reversed};
  places.nans = stats.nans;
  if (stats.zeros_differ) {
    places.zeros_begin = stats.negatives;
    places.zeros = stats.zeros;
  }
  return places;
}

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
    stats_[chunk] = xla_ffi_ops::Scan(format_, begin(chunk), length(chunk));
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

// Of so many elements, one thread is faster in steps if it has to count alone.
constexpr int64_t kCounted = 128 * 1024;

template <typename U>
class SortKernelOf final : public RowKernel {
  using Key = SortedKey<U>;

 public:
  SortKernelOf(const KeyFormat<U>& format, int64_t n, bool reversed)
      : format_(format), reversed_(reversed) {
    this->n = n;
    x_bytes = y_bytes = sizeof(U);
  }

  std::unique_ptr<LongRow> Long(const void* x, void* y,
                                int64_t chunks) const override {
    return std::make_unique<LongSort<U>>(format_, static_cast<const U*>(x),
                                         static_cast<U*>(y), n, reversed_,
                                         chunks);
  }

  void Sort(const void* from, void* to, int64_t rows) const override {
    const U* x = static_cast<const U*>(from);
    U* y = static_cast<U*>(to);
    if (sizeof(U) <= 2 && n > kCounted) {
      const int64_t chunks = n / kLongestChunk + 1;
      for (; rows > 0; --rows, x += n, y += n) {
        RunSteps(Long(x, y, chunks).get(), chunks);
      }
      return;
    }
    const std::unique_ptr<Key[]> keys(new Key[n]);
    for (; rows > 0; --rows, x += n, y += n) SortRow(x, y, keys.get());
  }

 private:
  void SortRow(const U* x, U* y, Key* keys) const {
    const Stats<U> stats = Scan(format_, x, n);
    const Places<U> places = PlacesOf(format_, stats, y, n, reversed_);
    if (!stats.has_special()) {
      const uint64_t range = stats.most - stats.least;
      if (range == 0) {
        std::memcpy(y, x, n * sizeof(U));
        return;
      }
      if (range < static_cast<uint64_t>(n) / 2) {
        return SortByCounting(x, stats.least, range + 1, places);
      }
    }
    const int64_t ordinary = n - places.zeros - places.nans;
    AtCpuLevel([&, f = format_]() XLA_FFI_OPS_INLINED {
      if (!stats.has_special()) {
        for (int64_t i = 0; i < n; ++i) keys[i] = f.Key(x[i]);
        return;
      }
      Key* at = keys;
      SplitSpecial(places, stats.zeros_differ, x, n,
                   {places.zeros_begin, n - places.nans},
                   [&](const U* bits, int64_t count) XLA_FFI_OPS_INLINED {
                     for (int64_t i = 0; i < count; ++i) at[i] = f.Key(bits[i]);
                     at += count;
                   });
    });
    SortKeys(keys, ordinary);
    places.WriteKeys(0, ordinary, keys);
  }

  void SortByCounting(const U* x, U least, uint64_t cells,
                      const Places<U>& places) const {
    std::vector<uint32_t> counts(cells);
    for (int64_t i = 0; i < n; ++i) {
      ++counts[static_cast<U>(format_.Key(x[i]) - least)];
    }
    int64_t begin = 0;
    for (uint64_t cell = 0; cell < cells; ++cell) {
      places.WriteEqual(begin, counts[cell],
                        format_.Bits(static_cast<U>(least + cell)));
      begin += counts[cell];
    }
  }

  const KeyFormat<U> format_;
  const bool reversed_;
};

}  // namespace

void RunSteps(LongRow* row, int64_t chunks) {
  for (int64_t c = 0; c < chunks; ++c) row->Scan(c);
  row->AfterScan();
  for (int64_t c = 0; c < chunks; ++c) row->Count(c);
  row->AfterCount();
  for (int64_t c = 0; c < chunks; ++c) row->Scatter(c);
  for (int64_t b = 0; b < row->buckets(); ++b) row->Finish(b);
}

template <typename U>
std::unique_ptr<RowKernel> SortKernel(const KeyFormat<U>& format, int64_t n,
                                      bool reversed) {
  return std::make_unique<SortKernelOf<U>>(format, n, reversed);
}

template std::unique_ptr<RowKernel> SortKernel(const KeyFormat<uint8_t>&,
                                               int64_t, bool);
template std::unique_ptr<RowKernel> SortKernel(const KeyFormat<uint16_t>&,
                                               int64_t, bool);
template std::unique_ptr<RowKernel> SortKernel(const KeyFormat<uint32_t>&,
                                               int64_t, bool);
template std::unique_ptr<RowKernel> SortKernel(const KeyFormat<uint64_t>&,
                                               int64_t, bool);

}  // namespace xla_ffi_ops
