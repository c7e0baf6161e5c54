// SPDX-License-Identifier: Apache-2.0
// Sorts the values of a row.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <variant>
#include <vector>

#include "xla_ffi_ops/sorting/kernels/counted_row.h"
#include "xla_ffi_ops/sorting/kernels/parted_row.h"
#include "xla_ffi_ops/sorting/kernels/sort_kernels.h"
#include "xla_ffi_ops/sorting/keys/row_keys.h"
#include "xla_ffi_ops/sorting/keys/special.h"
#include "xla_ffi_ops/vec/key_format.h"
#include "xla_ffi_ops/vec/sort/sort_keys.h"

namespace xla_ffi_ops {
namespace {

using internal::CountedRow;
using internal::PartedRow;
using internal::RowKeys;
using internal::SpecialPlaces;
using internal::Stats;

// Longer rows of 8 or 16 bits are counted, which is faster even in one thread.
constexpr int64_t kCounted = 128 * 1024;

template <typename U>
class SortKernelOf final : public RowKernel {
  using Key = typename RowKeys<U>::Key;
  static constexpr bool kIsNarrow = sizeof(U) < sizeof(Key);
  // So few keys of 32 bits are sorted in registers, sooner than counted.
  static constexpr int64_t kNetwork = sizeof(Key) == 4 ? 256 : 0;

 public:
  SortKernelOf(const KeyFormat<U>& format, int64_t n, bool descending)
      : keys_{format, descending ? KeyFormat<U>::kMost : U{0}} {
    this->n = n;
    x_bytes = y_bytes = sizeof(U);
  }

  std::unique_ptr<LongRow> Long(const void* x, void* y,
                                int64_t chunks) const override {
    using Row = std::conditional_t<kIsNarrow, CountedRow<U>, PartedRow<U>>;
    return std::make_unique<Row>(keys_, static_cast<const U*>(x),
                                 static_cast<U*>(y), n, chunks);
  }

  void Sort(const void* from, void* to, int64_t rows) const override {
    const U* x = static_cast<const U*>(from);
    U* y = static_cast<U*>(to);
    if (kIsNarrow && n > kCounted) {
      const int64_t chunks = n / kLongestChunk + 1;
      for (; rows > 0; --rows, x += n, y += n) {
        TakeSteps(Long(x, y, chunks).get(), chunks);
      }
      return;
    }
    // Wide keys are sorted where their elements are to be.
    const std::unique_ptr<Key[]> more(new Key[kIsNarrow ? n : 0]);
    for (; rows > 0; --rows, x += n, y += n) {
      SortRow(x, y, kIsNarrow ? more.get() : reinterpret_cast<Key*>(y));
    }
  }

 private:
  void SortRow(const U* x, U* y, Key* keys) const {
    const Stats<U> stats = keys_.Write(x, n, keys);
    const uint64_t range = stats.most - stats.least;
    if (n > kNetwork && n <= kLongestChunk && 0 < range &&
        range < static_cast<uint64_t>(n) / 2) {
      SortByCounting(x, stats.least, range + 1, y);
    } else {
      SortKeys(keys, n);
      keys_.Read(keys, n, y);
    }
    if (!stats.has_special()) return;
    SpecialPlaces<U>(keys_, stats, y, n).Write(keys_, x, n);
  }

  void SortByCounting(const U* x, U least, uint64_t cells, U* y) const {
    std::vector<uint32_t> counts(cells);  // of at most kLongestChunk elements
    for (int64_t i = 0; i < n; ++i) {
      ++counts[static_cast<U>(keys_.Rank(x[i]) - least)];
    }
    for (uint64_t cell = 0; cell < cells; ++cell) {
      y = std::fill_n(y, counts[cell],
                      keys_.OfRank(static_cast<U>(least + cell)));
    }
  }

  const RowKeys<U> keys_;
};

}  // namespace

void TakeSteps(LongRow* row, int64_t chunks) {
  for (int64_t c = 0; c < chunks; ++c) row->Scan(c);
  row->AfterScan();
  for (int64_t c = 0; c < chunks; ++c) row->Count(c);
  row->AfterCount();
  for (int64_t c = 0; c < chunks; ++c) row->Scatter(c);
  for (int64_t b = 0; b < row->buckets(); ++b) row->Finish(b);
  row->AfterFinish();
  for (int64_t c = 0; c < chunks; ++c) row->Repair(c);
}

std::unique_ptr<RowKernel> SortKernel(const AnyFormat& format, int64_t n,
                                      bool descending) {
  return std::visit(
      [=](const auto& of) {
        return std::unique_ptr<RowKernel>(new SortKernelOf(of, n, descending));
      },
      format);
}

}  // namespace xla_ffi_ops
