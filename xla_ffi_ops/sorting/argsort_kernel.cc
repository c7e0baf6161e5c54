// SPDX-License-Identifier: Apache-2.0
// Finds the indices that sort a row.
//
// A key and the index of its element make one number, the key in front: sorted
// as numbers they are in a stable order. If both have more than 64 bits, the
// last ones of the key are left out, and numbers that are equal without their
// index are sorted again.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "xla_ffi_ops/kit/cpu_level.h"
#include "xla_ffi_ops/kit/device.h"
#include "xla_ffi_ops/sorting/buckets.h"
#include "xla_ffi_ops/sorting/keys.h"
#include "xla_ffi_ops/sorting/row_kernel.h"
#include "xla_ffi_ops/sorting/sort_keys.h"

namespace xla_ffi_ops {
namespace {

using internal::BitWidth;
using internal::Buckets;
using internal::Chunks;

template <typename U>
struct Range {
  U least = KeyFormat<U>::kMost;
  U most = 0;
};

// The elements of a row by their keys, which ascend as the result does.
template <typename U>
struct Keyed {
  KeyFormat<U> format;
  U flip;  // all ones for a descending order
  const U* x;

  XLA_FFI_OPS_HD U operator[](int64_t i) const {
    return format.EqualKey(x[i]) ^ flip;
  }

  Range<U> Find(int64_t begin, int64_t length) const {
    Range<U> range;
    AtCpuLevel([&, *this]() XLA_FFI_OPS_INLINED {
      U least = KeyFormat<U>::kMost, most = 0;
      for (int64_t i = begin; i < begin + length; ++i) {
        const U key = (*this)[i];
        least = key < least ? key : least;
        most = key > most ? key : most;
      }
      range = {least, most};
    });
    return range;
  }
};

// How a key and an index are packed.
template <typename U>
struct Packing {
  Packing(Range<U> range, int64_t n)
      : least(range.least),
        index_bits(BitWidth(n - 1)),
        key_bits(BitWidth(range.most - range.least)),
        dropped(std::max(0, key_bits + index_bits - 64)) {}

  template <typename Item>
  XLA_FFI_OPS_HD Item Pack(U key, int64_t i) const {
    const Item rest = static_cast<U>(key - least);
    return (rest >> dropped) << index_bits | static_cast<Item>(i);
  }
  template <typename Item>
  XLA_FFI_OPS_HD int64_t Index(Item item) const {
    return item & ((Item{1} << index_bits) - 1);
  }

  U least;
  int index_bits;
  int key_bits;
  int dropped;
};

// Sorts, and writes the indices to y.
template <typename Item, typename U>
void Finish(const Packing<U>& packing, const Keyed<U>& keys, Item* items,
            int64_t n, Item* more, int32_t* y, bool reversed) {
  SortKeys(items, n, packing.index_bits, more);
  if (packing.dropped > 0) {
    const auto less = [&](Item a, Item b) {
      const U x = keys[packing.Index(a)], y = keys[packing.Index(b)];
      return x < y || (x == y && a < b);
    };
    for (int64_t begin = 0, end; begin < n; begin = end) {
      const Item key = items[begin] >> packing.index_bits;
      end = begin + 1;
      while (end < n && items[end] >> packing.index_bits == key) ++end;
      if (end - begin > 1) std::sort(items + begin, items + end, less);
    }
  }
  AtCpuLevel([=]() XLA_FFI_OPS_INLINED {
    if (reversed) {
      for (int64_t i = 0; i < n; ++i) y[-i] = packing.Index(items[i]);
    } else {
      for (int64_t i = 0; i < n; ++i) y[i] = packing.Index(items[i]);
    }
  });
}

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
    xla_ffi_ops::Finish(packing_, keys_, items_.get() + begin, count,
                        more.get(), place(begin), reversed_);
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

// Of more elements, one thread is faster in steps, too.
constexpr int64_t kLong = 64 * 1024;

template <typename U>
class ArgsortKernelOf final : public RowKernel {
 public:
  ArgsortKernelOf(const KeyFormat<U>& format, int64_t n, Order order)
      : format_(format), order_(order) {
    this->n = n;
    x_bytes = sizeof(U);
    y_bytes = sizeof(int32_t);
  }

  std::unique_ptr<LongRow> Long(const void* x, void* y,
                                int64_t chunks) const override {
    return std::make_unique<LongArgsort<U>>(KeysOf(static_cast<const U*>(x)),
                                            static_cast<int32_t*>(y), n,
                                            order_ == Order::kReversed, chunks);
  }

  void Sort(const void* from, void* to, int64_t rows) const override {
    const U* x = static_cast<const U*>(from);
    int32_t* y = static_cast<int32_t*>(to);
    if (n > kLong) {
      const int64_t chunks = n / kLongestChunk + 1;
      for (; rows > 0; --rows, x += n, y += n) {
        RunSteps(Long(x, y, chunks).get(), chunks);
      }
      return;
    }
    const std::unique_ptr<uint64_t[]> items(new uint64_t[2 * n]);
    for (; rows > 0; --rows, x += n, y += n) {
      const Keyed<U> keys = KeysOf(x);
      const Packing<U> packing(keys.Find(0, n), n);
      if (packing.key_bits + packing.index_bits <= 32) {
        SortRow(packing, keys, reinterpret_cast<uint32_t*>(items.get()), y);
      } else {
        SortRow(packing, keys, items.get(), y);
      }
    }
  }

 private:
  Keyed<U> KeysOf(const U* x) const {
    return {format_, order_ == Order::kDescending ? KeyFormat<U>::kMost : U{0},
            x};
  }

  // `items` has room for two of each element.
  template <typename Item>
  void SortRow(const Packing<U>& packing, const Keyed<U>& keys, Item* items,
               int32_t* y) const {
    AtCpuLevel([=, n = n]() XLA_FFI_OPS_INLINED {
      for (int64_t i = 0; i < n; ++i) {
        items[i] = packing.template Pack<Item>(keys[i], i);
      }
    });
    const bool reversed = order_ == Order::kReversed;
    Finish(packing, keys, items, n, items + n, reversed ? y + n - 1 : y,
           reversed);
  }

  const KeyFormat<U> format_;
  const Order order_;
};

}  // namespace

template <typename U>
std::unique_ptr<RowKernel> ArgsortKernel(const KeyFormat<U>& format, int64_t n,
                                         Order order) {
  return std::make_unique<ArgsortKernelOf<U>>(format, n, order);
}

template std::unique_ptr<RowKernel> ArgsortKernel(const KeyFormat<uint8_t>&,
                                                  int64_t, Order);
template std::unique_ptr<RowKernel> ArgsortKernel(const KeyFormat<uint16_t>&,
                                                  int64_t, Order);
template std::unique_ptr<RowKernel> ArgsortKernel(const KeyFormat<uint32_t>&,
                                                  int64_t, Order);
template std::unique_ptr<RowKernel> ArgsortKernel(const KeyFormat<uint64_t>&,
                                                  int64_t, Order);

}  // namespace xla_ffi_ops
