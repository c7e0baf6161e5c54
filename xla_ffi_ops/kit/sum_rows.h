// SPDX-License-Identifier: Apache-2.0
// A parallel sum over rows: the gradient of a weight that rows share.
#ifndef XLA_FFI_OPS_KIT_SUM_ROWS_H_
#define XLA_FFI_OPS_KIT_SUM_ROWS_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "xla/ffi/api/ffi.h"
#include "xla_ffi_ops/kit/device.h"
#include "xla_ffi_ops/kit/parallel.h"
#include "xla_ffi_ops/kit/parallel_loop.h"

namespace xla_ffi_ops {

// out[g, j] = sum over the `rows` rows of group g, for each of `groups` groups
// of consecutive rows and j in [0, cols), converted from Sum to Out once. Zeros
// if there are no rows.
//
// body(Cpu, begin, end, sum) works on rows [begin, end), which lie in one
// group, and stores their sum in sum[0, cols): zeros for no rows. It returns
// void or an Error; what ParallelFor says of its body holds.
//
// The rows are split by their number alone, so that the order of the additions,
// and with it every bit of the result, is the same for any number of threads.
template <typename Sum, typename Out, typename Body>
Status SumRows(const CpuContext& device, int64_t groups, int64_t rows,
               int64_t cols, int64_t bytes_per_row, Out* out, Body body) {
  using xla::ffi::Error;
  // A part writes and reads its sum once more: cheap from 8 rows on. 64 parts
  // are enough for the threads of a large machine.
  const int64_t most = 64 / std::clamp<int64_t>(groups, 1, 64);
  const int64_t parts = std::clamp<int64_t>(rows / 8, 1, most);
  const int64_t part_rows = (rows + parts - 1) / parts;
  const int64_t grain = Grain(part_rows * bytes_per_row);
  // The sum of one part; item i is part i % parts of group i / parts.
  const auto sum_part = [=](int64_t item, Sum* sum) {
    const int64_t first_row = item / parts * rows;
    const int64_t part = item % parts;
    const int64_t begin = std::min(rows, part * part_rows);
    const int64_t end = std::min(rows, begin + part_rows);
    return internal::Try<Error>(
        [&] { return body(Cpu(), first_row + begin, first_row + end, sum); });
  };
  const auto store = [=](const Sum* sum, int64_t group) {
    std::transform(sum, sum + cols, out + group * cols,
                   [](Sum value) { return static_cast<Out>(value); });
  };
  if (parts == 1) {
    return ParallelFor(device.pool, groups, grain,
                       [=](int64_t begin, int64_t end) {
                         std::vector<Sum> sum(cols);
                         for (int64_t group = begin; group < end; ++group) {
                           Error error = sum_part(group, sum.data());
                           if (error.failure()) return error;
                           store(sum.data(), group);
                         }
                         return Error::Success();
                       });
  }
  const auto sums = std::make_shared<std::vector<Sum>>(groups * parts * cols);
  const auto sum_parts = [=](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      Error error = sum_part(item, sums->data() + item * cols);
      if (error.failure()) return error;
    }
    return Error::Success();
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
  return ParallelFor(device.pool, groups * parts, grain, sum_parts, add_parts);
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_KIT_SUM_ROWS_H_
