// SPDX-License-Identifier: Apache-2.0
// Sorts the values of a row.
//
// Zeros, if they are not all the same, and NaNs are not sorted: they go to
// their places in their order. All other elements are sorted as keys.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <variant>
#include <vector>

#include "xla_ffi_ops/kit/cpu_level.h"
#include "xla_ffi_ops/kit/device.h"
#include "xla_ffi_ops/sorting/keys.h"
#include "xla_ffi_ops/sorting/long_sort.h"
#include "xla_ffi_ops/sorting/places.h"
#include "xla_ffi_ops/sorting/row_kernel.h"
#include "xla_ffi_ops/sorting/row_stats.h"
#include "xla_ffi_ops/sorting/sort_keys.h"

namespace xla_ffi_ops {
namespace {

using internal::LongSort;
using internal::Places;
using internal::Stats;

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
    const Stats<U> stats = internal::Scan(format_, x, n);
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

std::unique_ptr<RowKernel> SortKernel(const AnyFormat& format, int64_t n,
                                      bool reversed) {
  return std::visit(
      [=](const auto& of) {
        return std::unique_ptr<RowKernel>(new SortKernelOf(of, n, reversed));
      },
      format);
}

}  // namespace xla_ffi_ops
