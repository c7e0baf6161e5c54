// SPDX-License-Identifier: Apache-2.0
// Partitions a row.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <variant>

#include "xla_ffi_ops/sorting/kernels/partition_row.h"
#include "xla_ffi_ops/sorting/kernels/sort_kernels.h"
#include "xla_ffi_ops/sorting/keys/key_buffer.h"
#include "xla_ffi_ops/sorting/keys/row_keys.h"
#include "xla_ffi_ops/sorting/keys/sides.h"
#include "xla_ffi_ops/vec/key_format.h"
#include "xla_ffi_ops/vec/sort/sort_keys.h"

namespace xla_ffi_ops {
namespace {

using internal::KeyBuffer;
using internal::PartitionRow;
using internal::RowKeys;
using internal::Sides;
using internal::SplitRow;

// For fewer elements, a sample of them takes too long.
constexpr int64_t kLong = 32 * 1024;

template <typename U, typename Out>
class PartitionKernelOf final : public RowKernel {
 public:
  PartitionKernelOf(const KeyFormat<U>& format, int64_t n, int64_t kth)
      : keys_{format, U{0}}, kth_(kth) {
    this->n = n;
    x_bytes = sizeof(U);
    y_bytes = sizeof(Out);
  }

  std::unique_ptr<LongRow> Long(const void* x, void* y,
                                int64_t chunks) const override {
    return std::make_unique<PartitionRow<U, Out>>(
        keys_, static_cast<const U*>(x), static_cast<Out*>(y), n, kth_, chunks);
  }

  void Sort(const void* from, void* to, int64_t rows) const override {
    const U* x = static_cast<const U*>(from);
    Out* y = static_cast<Out*>(to);
    if (n >= kLong) {
      const int64_t chunks = n / kLongestChunk + 1;
      for (; rows > 0; --rows, x += n, y += n) {
        TakeSteps(Long(x, y, chunks).get(), chunks);
      }
      return;
    }
    const KeyBuffer<typename RowKeys<U>::Key> buffer(n);
    auto* const written = buffer.get();
    // Larger than a side, where few elements cannot be copied at once.
    const int64_t room = n + 8;
    const KeyBuffer<Out> apart(3 * room);
    for (; rows > 0; --rows, x += n) {
      keys_.Encode(x, n, written);
      SelectKeys(written, n, kth_);
      Sides<Out> sides;
      for (int side = 0; side < 3; ++side) {
        sides.next[side] = apart.get() + side * room;
        sides.end[side] = sides.next[side] + room;
      }
      SplitRow(keys_, x, 0, n, written[kth_], &sides);
      for (int side = 0; side < 3; ++side) {
        y = std::copy(sides.end[side] - room, sides.next[side], y);
      }
    }
  }

 private:
  const RowKeys<U> keys_;
  const int64_t kth_;
};

}  // namespace

std::unique_ptr<RowKernel> PartitionKernel(const AnyFormat& format, int64_t n,
                                           int64_t kth, bool gives_indices) {
  return std::visit(
      [=](const auto& of) -> std::unique_ptr<RowKernel> {
        using U = decltype(of.sign);
        if (gives_indices) {
          return std::make_unique<PartitionKernelOf<U, int32_t>>(of, n, kth);
        }
        return std::make_unique<PartitionKernelOf<U, U>>(of, n, kth);
      },
      format);
}

}  // namespace xla_ffi_ops
