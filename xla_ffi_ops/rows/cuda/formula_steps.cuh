// SPDX-License-Identifier: Apache-2.0
// The steps of a formula (rows/formula.h) for one row, of which each thread has
// some elements. `for_each(fn)` calls fn(column, i, elements) for each access
// of the thread: elements [column, column + kSize), which are its i-th.
#ifndef XLA_FFI_OPS_ROWS_CUDA_FORMULA_STEPS_CUH_
#define XLA_FFI_OPS_ROWS_CUDA_FORMULA_STEPS_CUH_

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "xla_ffi_ops/cuda/pack.cuh"
#include "xla_ffi_ops/rows/cuda/row_args.cuh"
#include "xla_ffi_ops/rows/cuda/row_operands.cuh"
#include "xla_ffi_ops/rows/formula.h"

namespace xla_ffi_ops {

namespace internal {

template <int p, typename Formula>
struct AddOf {
  template <typename... X>
  __device__ auto operator()(X... x) const {
    return formula.Add(Pass<p>(), row, x...);
  }
  const Formula& formula;
  const typename Formula::Row& row;
};

// The statistic of pass p, whose elements are `i`.
template <typename Args, int p, size_t... i>
auto StatOf(std::index_sequence<i...>)
    -> decltype(std::declval<const typename Args::Formula&>().Add(
        Pass<p>(), std::declval<const typename Args::Formula::Row&>(),
        (static_cast<void>(i), typename Args::Acc())...));
template <typename Args, int p>
using Stat = decltype(StatOf<Args, p>(
    std::make_index_sequence<Args::kInputs + Args::kWeights>()));

template <typename Args, int... p>
constexpr int MaxStatBytes(std::integer_sequence<int, p...>) {
  return std::max({int{sizeof(Stat<Args, p>)}...});
}

}  // namespace internal

// The size of the largest statistic.
template <typename Args>
inline constexpr int kStatBytes = internal::MaxStatBytes<Args>(
    std::make_integer_sequence<int, Args::Formula::kPasses>());

// Finds out what there is to know of a row: pass p and the later ones. In a
// long row, the sums of a thread's batches of accesses are added with
// compensation: of each batch, access 0 comes first. keep(i, k, statistic) is
// called with that of element k of access i in the last pass.
template <bool kLong, int p = 0, typename Args, typename Row, typename Reduce,
          typename ForEach, typename Keep>
__device__ inline void MakePasses(const Args& args, Row& row, Reduce& reduce,
                                  const ForEach& for_each, const Keep& keep) {
  if constexpr (p < Args::Formula::kPasses) {
    using Stat = internal::Stat<Args, p>;
    const internal::AddOf<p, typename Args::Formula> add{args.formula, row};
    CompensatedTotal<Stat> batches;
    Stat total = Stat::Initial();
    for_each([&](int64_t, int i, const auto& elements) {
      if (kLong && i == 0) {
        batches.Add(total);
        total = Stat::Initial();
      }
      const auto stat_of = [&](int k) {
        const Stat stat = elements.Call(k, add);
        if constexpr (p + 1 == Args::Formula::kPasses) keep(i, k, stat);
        return stat;
      };
      Stat stat = stat_of(0);
#pragma unroll
      for (int k = 1; k < elements.kSize; ++k) stat.Combine(stat_of(k));
      total.Combine(stat);
    });
    if constexpr (kLong) {
      batches.Add(total);
      total = batches.value();
    }
    args.formula.Finish(Pass<p>(), row, reduce(total),
                        static_cast<typename Args::Acc>(args.cols));
    MakePasses<kLong, p + 1>(args, row, reduce, for_each, keep);
  }
}

// The outputs of element k.
template <typename Args, typename Row, int kSize>
__device__ inline auto StoreOf(const Args& args, const Row& row,
                               const Elements<Args, kSize>& elements, int k) {
  return elements.Call(
      k, [&](auto... x) { return args.formula.Store(row, x...); });
}

// Stores store(k) for each element of an access to the row of `index`.
template <int kSize, typename Args, typename Store>
__device__ inline void StoreOutputs(const Args& args, int64_t index,
                                    int64_t column, const Store& store) {
  typename Args::Acc values[Args::kOutputs][kSize];
#pragma unroll
  for (int k = 0; k < kSize; ++k) {
    const auto results = store(k);
#pragma unroll
    for (int i = 0; i < Args::kOutputs; ++i) values[i][k] = results.value[i];
  }
#pragma unroll
  for (int i = 0; i < Args::kOutputs; ++i) {
    if (args.outputs[i] == nullptr) continue;  // not wanted
    StoreValues(values[i], args.outputs[i] + index * args.cols + column);
  }
}

// Adds the terms of the sums over rows.
template <typename Args, typename Row, int kSize>
__device__ inline void AddColumns(
    const Args& args, const Row& row, const Elements<Args, kSize>& elements,
    typename Args::Acc (&sums)[Args::kSums][kSize]) {
#pragma unroll
  for (int k = 0; k < kSize; ++k) {
    const auto terms = elements.Call(
        k, [&](auto... x) { return args.formula.Column(row, x...); });
#pragma unroll
    for (int i = 0; i < Args::kSums; ++i) sums[i][k] += terms.value[i];
  }
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_ROWS_CUDA_FORMULA_STEPS_CUH_
