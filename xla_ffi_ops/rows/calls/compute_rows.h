// SPDX-License-Identifier: Apache-2.0
// Computes all rows of a call, with the gradients of weights, on every device.
//
// On the CPU, each layer below has its own verb:
//
//   a call           ComputeRows, ComputeBackward
//   its threads      SplitRows, SplitSums, SplitLongRows
//   a range of rows  RunFormula
//   a level of x86   GroupAtLevel, BlockAtLevel
//   a block of rows  StoreBlock
//   a row            ReduceRow, which makes the passes, and StoreRow
#ifndef XLA_FFI_OPS_ROWS_CALLS_COMPUTE_ROWS_H_
#define XLA_FFI_OPS_ROWS_CALLS_COMPUTE_ROWS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "xla/ffi/api/ffi.h"
#include "xla_ffi_ops/handler/call.h"
#include "xla_ffi_ops/rows/calls/long_rows.h"
#include "xla_ffi_ops/rows/run_formula.h"
#include "xla_ffi_ops/threads/handler_result.h"
#include "xla_ffi_ops/threads/parallel.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/float16.h"
#include "xla_ffi_ops/vec/row_map.h"

namespace xla_ffi_ops {

namespace internal {

// Whether any of the `count` weights whose gradient is wanted is shared; with
// `shared` false, whether any is not.
bool Any(const Weight* const* weights, int count, bool shared);

// Stores the sums over the rows [begin, end), which lie in one group, in
// sums[gradients wanted, cols], which is null if none is wanted.
template <typename Acc>
using SumGradients = std::function<void(int64_t begin, int64_t end, Acc* sums)>;

// On the CPU, for float and double: a function for all ops.
template <typename Acc>
StoreSums<Acc> StoreGradients(const Weight* const* weights, int count,
                              int64_t cols);
template <typename Acc>
HandlerResult SplitSums(const CpuContext& device, const Call& call,
                        const Weight* const* weights, int count, int64_t cols,
                        int64_t bytes_per_row, SumGradients<Acc> body);
HandlerResult SplitRows(const CpuContext& device, int64_t rows,
                        int64_t bytes_per_row,
                        std::function<void(int64_t begin, int64_t end)> body);

// Which of the gradients of weights are wanted.
template <size_t k>
struct Wanted {
  // Where the sums of each weight are in sums[gradients wanted, cols].
  template <typename Acc>
  Operands<Acc*, k> Each(Acc* sums, int64_t cols) const {
    Operands<Acc*, k> each = {};
    for (size_t i = 0; i < k; ++i) {
      if (!wanted[i]) continue;
      each[i] = sums;
      sums += cols;
    }
    return each;
  }

  std::array<bool, k> wanted;
};

template <size_t k>
Wanted<k> WantedOf(const Weight* const (&weights)[k]) {
  Wanted<k> result;
  for (size_t i = 0; i < k; ++i) result.wanted[i] = weights[i]->gradient.given;
  return result;
}

}  // namespace internal

// Runs the backward kernel of an op with weights, whose gradients are sums of
// Accumulator<T> over rows, rounded to W once:
//
//   body(where, RowRange range, Operands<SumOf<Device, T, W>, k> sums)
//
// computes the rows of the range, and their sums: one for each weight, or null
// if its gradient is not wanted. It may be called twice for a row, if only some
// of the weights are shared. On the CPU a range is part of one group; on CUDA,
// where the body only enqueues work, it is all groups.
template <typename T, typename W, size_t k, typename Body>
HandlerResult ComputeBackward(const CpuContext& device, const Call& call,
                              const Weight* const (&weights)[k], int64_t cols,
                              int64_t bytes_per_row, Body body) {
  using Acc = Accumulator<T>;
  const internal::Wanted<k> wanted = internal::WantedOf(weights);
  return internal::SplitSums<Acc>(device, call, weights, k, cols, bytes_per_row,
                                  [=](int64_t begin, int64_t end, Acc* sums) {
                                    body(Cpu(),
                                         RowRange{begin, 1, end - begin, cols},
                                         wanted.Each(sums, cols));
                                  });
}

template <typename T, typename W, size_t k, typename Body>
HandlerResult ComputeBackward(Cuda device, const Call& call,
                              const Weight* const (&weights)[k], int64_t cols,
                              int64_t, Body body) {
  const auto run = [&](bool shared, int64_t groups, int64_t rows) {
    if (groups == 0 || cols == 0 || (rows == 0 && !shared)) return;
    Operands<SumOf<Cuda, T, W>, k> sums = {};
    for (size_t i = 0; i < k; ++i) {
      const Weight& weight = *weights[i];
      if (!weight.gradient.given || weight.shared != shared) continue;
      sums[i] = {weight.gradient.template data<W>(),
                 weight.workspace.template data<Accumulator<T>>(),
                 weight.parts};
    }
    body(device, RowRange{0, groups, rows, cols}, sums);
  };
  const bool shared = internal::Any(weights, k, true);
  const bool own = internal::Any(weights, k, false);
  if (shared) run(true, call.Groups(true), call.GroupRows(true));
  if (own) run(false, call.Groups(false), 1);
  if (!shared && !own) run(false, 1, call.Groups(false));
  return xla::ffi::Error::Success();
}

namespace internal {

template <typename F, typename T>
constexpr int64_t kElementBytes = (F::kInputs + F::kOutputs) * sizeof(T);

// The bytes that stay in a third-level cache of 32 MiB, of which other cores
// take their shares: half of it.
inline constexpr int64_t kCachedBytes = int64_t{1} << 24;

// Whether a call moves more.
template <typename F, typename T>
bool IsUncached(int64_t rows, int64_t cols) {
  return rows * cols > kCachedBytes / kElementBytes<F, T>;
}

template <typename F, typename T, typename W>
HandlerResult ComputeLongRows(const CpuContext& device, const F& formula,
                              const RowRange& range,
                              const RowArrays<F, T, W>& arrays,
                              const Wanted<F::kSums>& wanted,
                              StoreSums<Accumulator<T>> store) {
  const auto known =
      std::make_shared<std::vector<typename F::Row>>(range.groups * range.rows);
  return SplitLongRows<Accumulator<T>>(
      device, {range,
               F::kPasses,
               kElementBytes<F, T>,
               std::count(wanted.wanted.begin(), wanted.wanted.end(), true),
               {known, known->data()},
               [=](const RowRange& part, Accumulator<T>* sums) {
                 RunFormula(
                     Cpu(), formula, part, arrays,
                     wanted.Each(sums, part.part->end - part.part->begin));
               },
               std::move(store)});
}

}  // namespace internal

// Runs a formula (formula.h) over the rows [0, rows).
template <typename Device, typename F, typename T, typename W>
HandlerResult ComputeRows(
    const Device& device, int64_t rows, int64_t cols, const F& formula,
    const Operands<Rows<const T>, F::kInputs>& inputs,
    const Operands<Rows<const W>, F::Weights::kSize>& weights,
    const Operands<T*, F::kOutputs>& outputs) {
  const RowArrays<F, T, W> arrays{inputs, weights, outputs};
  const auto run = [=](auto where, int64_t begin, int64_t end) {
    RowRange range{begin, 1, end - begin, cols};
    range.uncached = internal::IsUncached<F, T>(rows, cols);
    RunFormula(where, formula, range, arrays, {});
  };
  if constexpr (std::is_same_v<Device, Cuda>) {
    return ForRows(device, rows, 0, run);
  } else {
    if (internal::AreLongRows(device, rows, cols)) {
      return internal::ComputeLongRows(device, formula, {0, 1, rows, cols},
                                       arrays, internal::Wanted<F::kSums>{},
                                       nullptr);
    }
    // Two passes over 16 bits are limited by arithmetic, not by memory: they
    // count as passes over the accumulator's type.
    using Moved = std::conditional_t<(F::kPasses > 1), Accumulator<T>, T>;
    return internal::SplitRows(
        device, rows, internal::kElementBytes<F, Moved> * cols,
        [=](int64_t begin, int64_t end) { run(Cpu(), begin, end); });
  }
}

// Runs the formula of a backward pass: sums are the gradients of `of`.
template <typename Device, typename F, typename T, typename W>
HandlerResult ComputeBackward(
    const Device& device, const Call& call, const Weight* const (&of)[F::kSums],
    int64_t cols, const F& formula,
    const Operands<Rows<const T>, F::kInputs>& inputs,
    const Operands<Rows<const W>, F::Weights::kSize>& weights,
    const Operands<T*, F::kOutputs>& outputs) {
  const RowArrays<F, T, W> arrays{inputs, weights, outputs};
  if constexpr (std::is_same_v<Device, CpuContext>) {
    const bool shared = internal::Any(of, F::kSums, true);
    const RowRange all{0, call.Groups(shared), call.GroupRows(shared), cols};
    if (internal::AreLongRows(device, all.groups * all.rows, cols) &&
        !(shared && internal::Any(of, F::kSums, false))) {
      return internal::ComputeLongRows(
          device, formula, all, arrays, internal::WantedOf(of),
          internal::StoreGradients<Accumulator<T>>(of, F::kSums, cols));
    }
  }
  return ComputeBackward<T, W>(
      device, call, of, cols, internal::kElementBytes<F, T> * cols,
      [=, rows = call.Groups(false)](auto where, RowRange range,
                                     const auto& sums) {
        range.uncached = internal::IsUncached<F, T>(rows, cols);
        RunFormula(where, formula, range, arrays, sums);
      });
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_ROWS_CALLS_COMPUTE_ROWS_H_
