// SPDX-License-Identifier: Apache-2.0
// Finds the indices that sort a row.
#include <cstdint>
#include <memory>
#include <variant>

#include "xla_ffi_ops/sorting/kernels/counted_argsort.h"
#include "xla_ffi_ops/sorting/kernels/long_argsort.h"
#include "xla_ffi_ops/sorting/kernels/sort_kernels.h"
#include "xla_ffi_ops/sorting/keys/chunks.h"
#include "xla_ffi_ops/sorting/keys/key_buffer.h"
#include "xla_ffi_ops/sorting/keys/packed.h"
#include "xla_ffi_ops/vec/key_format.h"

namespace xla_ffi_ops {
namespace {

using internal::Chunks;
using internal::CountedArgsort;
using internal::Keyed;
using internal::LongArgsort;
using internal::Packing;
using internal::Range;

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
    const internal::KeyBuffer<int64_t> items(n);
    for (; rows > 0; --rows, x += n, y += n) {
      const Keyed<U> keys = KeysOf(x);
      const Range<U> range = keys.Find(0, n);
      if (CountedArgsort<U>::Pays(range, n)) {
        SortByCounting(keys, range, y);
        continue;
      }
      const Packing<U> packing(keys, n, range);
      // Else those that are packed as one need more bits when they are sorted.
      if (packing.is_exact() && packing.key_bits + packing.index_bits <= 31) {
        SortRow(packing, keys, reinterpret_cast<int32_t*>(items.get()), y);
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

  void SortByCounting(const Keyed<U>& keys, const Range<U>& range,
                      int32_t* y) const {
    CountedArgsort<U> counted(keys, range, Chunks{n, 1}, y,
                              order_ == Order::kReversed);
    counted.Count(0);
    counted.Place();
    counted.Scatter(0);
  }

  template <typename Item>
  void SortRow(const Packing<U>& packing, const Keyed<U>& keys, Item* items,
               int32_t* y) const {
    packing.PackAll(keys, 0, n, items);
    const bool reversed = order_ == Order::kReversed;
    Finish(packing, keys, items, n, reversed ? y + n - 1 : y, reversed);
  }

  const KeyFormat<U> format_;
  const Order order_;
};

}  // namespace

std::unique_ptr<RowKernel> ArgsortKernel(const AnyFormat& format, int64_t n,
                                         Order order) {
  return std::visit(
      [=](const auto& of) {
        return std::unique_ptr<RowKernel>(new ArgsortKernelOf(of, n, order));
      },
      format);
}

}  // namespace xla_ffi_ops
