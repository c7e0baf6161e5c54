// SPDX-License-Identifier: Apache-2.0
// The indices of the true elements of a mask, (n),()->(size),(): the first
// `size` of them, then `fill`; and how many there are in all.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/ops/nonzero/nonzero.h"

namespace xla_ffi_ops::nonzero {
namespace {

using Indices = DTypes<ffi::S32, ffi::S64>;

// Elements that one thread works on: their indices fit into the L2 cache.
constexpr int64_t kMaskBlock = 1 << 15;

template <typename Index>
HandlerResult Run(const CpuContext& device, int64_t rows,
                  Rows<const uint8_t> mask, Rows<const Index> fill,
                  int64_t size, Index* indices, Index* counts) {
  const int64_t n = mask.cols;
  const int64_t blocks =
      std::max<int64_t>(1, (n + kMaskBlock - 1) / kMaskBlock);
  const auto begin_of = [=](int64_t block) {
    return std::min(block * kMaskBlock, n);
  };
  // First how many there are in each block, then how many there are before it.
  const auto before = std::make_shared<std::vector<int64_t>>(rows * blocks);
  const auto count_blocks = [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t block = i % blocks;
      const int64_t first = begin_of(block);
      (*before)[i] =
          Count(mask[i / blocks] + first, begin_of(block + 1) - first);
    }
  };
  const auto find_in_blocks = [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i / blocks;
      const int64_t block = i % blocks;
      const auto total = static_cast<int64_t>(counts[row]);
      const int64_t next = block + 1 < blocks ? (*before)[i + 1] : total;
      const int64_t start = std::min((*before)[i], size);
      const int64_t first = begin_of(block);
      Index* const out = indices + row * size;
      Find(mask[row] + first, begin_of(block + 1) - first, first,
           std::min(next, size) - start, out + start);
      // What is left of the result is split evenly, too.
      const int64_t part = (size + blocks - 1) / blocks;
      const int64_t end_of_part = std::min((block + 1) * part, size);
      const int64_t rest = std::max(block * part, total);
      if (rest < end_of_part) {
        std::fill(out + rest, out + end_of_part, *fill[row]);
      }
    }
  };
  const auto add_up = [=](int64_t phase) {
    if (phase > 0) return;
    for (int64_t row = 0; row < rows; ++row) {
      int64_t total = 0;
      for (int64_t i = row * blocks; i < (row + 1) * blocks; ++i) {
        const int64_t count = (*before)[i];
        (*before)[i] = total;
        total += count;
      }
      counts[row] = static_cast<Index>(total);
    }
  };
  const int64_t bytes_per_block =
      std::min(n, kMaskBlock) +
      size / blocks * static_cast<int64_t>(sizeof(Index));
  return ParallelPhases(
      device.pool, 2, rows * blocks, Grain(bytes_per_block),
      [=](int64_t phase, int64_t begin, int64_t end) {
        phase == 0 ? count_blocks(begin, end) : find_in_blocks(begin, end);
      },
      add_up);
}

HandlerResult NonzeroHandler(CpuContext device, int64_t size,
                             ffi::AnyBuffer mask, ffi::AnyBuffer fill,
                             ffi::Result<ffi::AnyBuffer> indices,
                             ffi::Result<ffi::AnyBuffer> count) {
  Dim n = kUnknownDim;
  Checks checks;
  checks.Operand("mask", mask, ffi::PRED, {&n});
  checks.Operand("fill", fill, Indices(), {});
  if (fill.element_type() == ffi::S32 &&
      n > std::numeric_limits<int32_t>::max()) {
    checks.Fail("mask", "have fewer elements than int32 can count",
                std::to_string(n));
  }
  const RowMap mask_map = checks.Map("mask", mask, 1);
  const RowMap fill_map = checks.Map("fill", fill, 0);
  checks.AtLeast("size", static_cast<double>(size), 0);
  checks.Result("indices", *indices, fill.element_type(), {&size});
  checks.Result("count", *count, fill.element_type(), {});
  const int64_t rows = Product(checks.loops());
  if (!checks.ok() || rows == 0) return checks.error();
  return Dispatch(Indices(), fill.element_type(), [&](auto tag) {
    using Index = TypeOf<decltype(tag)>;
    return Run(device, rows,
               Rows<const uint8_t>{Data<const uint8_t>(mask), n, mask_map},
               Rows<const Index>{Data<const Index>(fill), 1, fill_map}, size,
               Data<Index>(*indices), Data<Index>(*count));
  });
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_nonzero_fwd, NonzeroHandler,
                           .Attr<int64_t>("size")
                               .Arg<ffi::AnyBuffer>()    // mask
                               .Arg<ffi::AnyBuffer>()    // fill
                               .Ret<ffi::AnyBuffer>()    // indices
                               .Ret<ffi::AnyBuffer>());  // count

}  // namespace xla_ffi_ops::nonzero
