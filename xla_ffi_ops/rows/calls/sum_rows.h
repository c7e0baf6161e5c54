// SPDX-License-Identifier: Apache-2.0
// Parallel sums over rows: the gradients of weights that rows share.
#ifndef XLA_FFI_OPS_ROWS_CALLS_SUM_ROWS_H_
#define XLA_FFI_OPS_ROWS_CALLS_SUM_ROWS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "xla/ffi/api/ffi.h"
#include "xla_ffi_ops/rows/cpu/long_sums.h"
#include "xla_ffi_ops/threads/parallel.h"
#include "xla_ffi_ops/threads/parallel_loop.h"
#include "xla_ffi_ops/vec/compensated.h"
#include "xla_ffi_ops/vec/device.h"

namespace xla_ffi_ops {

namespace internal {

// The sums over the rows [begin, end), which lie in one group.
template <typename Sum>
using SumPart =
    std::function<xla::ffi::Error(int64_t begin, int64_t end, Sum* sums)>;

// A part writes and reads its sums once more: cheap from so many rows on.
inline constexpr int64_t kLeastPartRows = 8;

// Has store(sums, group) called with the `size` sums of each group.
template <typename Sum>
HandlerResult SumGroups(
    const CpuContext& device, int64_t groups, int64_t rows,
    int64_t bytes_per_row, int64_t size, SumPart<Sum> sum_part,
    std::function<void(const Sum* sums, int64_t group)> store) {
  using xla::ffi::Error;
  // Enough for the threads of a large machine.
  constexpr int64_t kMostParts = 64;
  const int64_t most = kMostParts / std::clamp<int64_t>(groups, 1, kMostParts);
  const int64_t parts = std::clamp<int64_t>(rows / kLeastPartRows, 1, most);
  const int64_t part_rows =
      std::max<int64_t>(1, rows / parts + (rows % parts != 0));
  const int64_t grain =
      (Grain(bytes_per_row, groups * rows) + part_rows - 1) / part_rows;
  // Item i is part i % parts of group i / parts.
  auto sum_item = [=, sum_part = std::move(sum_part)](int64_t item, Sum* sums) {
    const int64_t first_row = item / parts * rows;
    const int64_t part = item % parts;
    const int64_t begin = std::min(rows, part * part_rows);
    const int64_t end = std::min(rows, begin + part_rows);
    return sum_part(first_row + begin, first_row + end, sums);
  };
  if (parts == 1) {
    return ParallelFor(device.pool, groups, grain,
                       [=, sum_item = std::move(sum_item),
                        store = std::move(store)](int64_t begin, int64_t end) {
                         std::vector<Sum> sums(size);
                         for (int64_t group = begin; group < end; ++group) {
                           Error error = sum_item(group, sums.data());
                           if (error.failure()) return error;
                           store(sums.data(), group);
                         }
                         return Error::Success();
                       });
  }
  const auto memory = std::make_shared<std::vector<Sum>>(groups * parts * size);
  auto sum_items = [=, sum_item = std::move(sum_item)](int64_t begin,
                                                       int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      Error error = sum_item(item, memory->data() + item * size);
      if (error.failure()) return error;
    }
    return Error::Success();
  };
  auto add_parts = [=, store = std::move(store)] {
    for (int64_t group = 0; group < groups; ++group) {
      Sum* const sums = memory->data() + group * parts * size;
      std::vector<Compensated<Sum>> totals(size);
      for (int64_t part = 0; part < parts; ++part) {
        AddEach(sums + part * size, totals.data(), size);
      }
      std::transform(totals.begin(), totals.end(), sums,
                     [](const auto& total) { return total.value(); });
      store(sums, group);
    }
  };
  return ParallelFor(device.pool, groups * parts, grain, std::move(sum_items),
                     std::move(add_parts));
}

// Compiled once.
extern template HandlerResult SumGroups(
    const CpuContext&, int64_t, int64_t, int64_t, int64_t, SumPart<float>,
    std::function<void(const float*, int64_t)>);
extern template HandlerResult SumGroups(
    const CpuContext&, int64_t, int64_t, int64_t, int64_t, SumPart<double>,
    std::function<void(const double*, int64_t)>);

}  // namespace internal

// outs[i][g, j] = sum i over the `rows` rows of group g, for each of `groups`
// groups of consecutive rows and j in [0, cols), converted from Sum to Out
// once. Zeros if there are no rows. An output that is null has no sum.
//
// body(Cpu, begin, end, sums) works on rows [begin, end), which lie in one
// group, and stores their sums in sums[number of outputs, cols]: zeros for no
// rows. It returns void or an Error; what ParallelFor says of its body holds.
//
// The rows are split by their number alone, so that the order of the additions,
// and with it every bit of the result, is the same for any number of threads.
template <typename Sum, typename Out, size_t k, typename Body>
HandlerResult SumRows(const CpuContext& device, int64_t groups, int64_t rows,
                      int64_t cols, int64_t bytes_per_row,
                      std::array<Out*, k> outs, Body body) {
  const int64_t size =
      (k - std::count(outs.begin(), outs.end(), nullptr)) * cols;
  return internal::SumGroups<Sum>(
      device, groups, rows, bytes_per_row, size,
      [body = std::move(body)](int64_t begin, int64_t end, Sum* sums) {
        return internal::Try<xla::ffi::Error>(
            [&] { return body(Cpu(), begin, end, sums); });
      },
      [=](const Sum* sums, int64_t group) {
        for (Out* const out : outs) {
          if (out == nullptr) continue;
          std::transform(sums, sums + cols, out + group * cols,
                         [](Sum value) { return static_cast<Out>(value); });
          sums += cols;
        }
      });
}

// One sum.
template <typename Sum, typename Out, typename Body>
HandlerResult SumRows(const CpuContext& device, int64_t groups, int64_t rows,
                      int64_t cols, int64_t bytes_per_row, Out* out,
                      Body body) {
  return SumRows<Sum>(device, groups, rows, cols, bytes_per_row,
                      std::array<Out*, 1>{out}, std::move(body));
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_ROWS_CALLS_SUM_ROWS_H_
