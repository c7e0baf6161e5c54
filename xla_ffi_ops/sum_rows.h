// SPDX-License-Identifier: Apache-2.0
// A parallel sum over rows: the gradient of a weight that rows share.
#ifndef XLA_FFI_OPS_SUM_ROWS_H_
#define XLA_FFI_OPS_SUM_ROWS_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "xla_ffi_ops/ffi.h"

namespace xla_ffi_ops {

// out[g, j] = sum over the `rows` rows of group g, for each of `groups` groups
// of consecutive rows, converted from Sum to Out once.
//
// body(Cpu, begin, end, sum) works on rows [begin, end), which lie in one
// group, and stores their sum in sum[0, cols).
//
// The rows are split by their number alone, so that the order of the additions,
// and with it every bit of the result, is the same for any number of threads.
template <typename Sum, typename Out, typename Body>
Status SumRows(CpuContext& device, int64_t groups, int64_t rows, int64_t cols,
               int64_t bytes_per_row, Out* out, Body body) {
  // A part writes and reads its sum once more: cheap from 8 rows on. 64 parts
  // are enough for the threads of a large machine.
  const int64_t most = 64 / std::clamp<int64_t>(groups, 1, 64);
  const int64_t parts = std::clamp<int64_t>(rows / 8, 1, most);
  const int64_t part_rows = (rows + parts - 1) / parts;
  const int64_t grain = Grain(part_rows * bytes_per_row);
  const auto store = [=](const Sum* sum, int64_t group) {
    std::transform(sum, sum + cols, out + group * cols,
                   [](Sum value) { return static_cast<Out>(value); });
  };
  if (parts == 1) {
    return ParallelFor(device.pool, groups, grain,
                       [=](int64_t begin, int64_t end) {
                         std::vector<Sum> sum(cols);
                         for (int64_t group = begin; group < end; ++group) {
                           body(Cpu(), group * rows, (group + 1) * rows,
                                sum.data());
                           store(sum.data(), group);
                         }
                       });
  }
  const auto sums = std::make_shared<std::vector<Sum>>(groups * parts * cols);
  const auto sum_part = [=](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t first_row = item / parts * rows;
      const int64_t part = item % parts;
      body(Cpu(), first_row + std::min(rows, part * part_rows),
           first_row + std::min(rows, (part + 1) * part_rows),
           sums->data() + item * cols);
    }
  };
  const auto add_parts = [=] {
    for (int64_t group = 0; group < groups; ++group) {
      Sum* const sum = sums->data() + group * parts * cols;
      for (int64_t part = 1; part < parts; ++part) {
        const Sum* const other = sum + part * cols;
        for (int64_t j = 0; j < cols; ++j) sum[j] += other[j];
      }
      store(sum, group);
    }
  };
  return ParallelFor(device.pool, groups * parts, grain, sum_part, add_parts);
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_SUM_ROWS_H_
