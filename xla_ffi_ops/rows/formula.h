// SPDX-License-Identifier: Apache-2.0
// The parts of a formula of rows. Its text serves g++ and nvcc.
//
//   template <typename Acc>
//   struct Formula {
//     // Of one row: the arrays read and written (1 or more of each), the
//     // sums over rows, and the passes over the row before the outputs.
//     static constexpr int kInputs = 1, kOutputs = n, kSums = m, kPasses = 1;
//     using Weights = ...;  // the weights, such as WeightDefaults<1>
//     struct Row { ... };   // what is known of one row
//
//     // Functions of one element or row; each is an XLA_FFI_OPS_HD.
//     Row Load(int64_t row) const;       // what is known: residuals, scalars
//     S Add(Pass<p>, const Row&, Acc x...) const;         // of one element
//     void Finish(Pass<p>, Row&, S total, Acc cols) const;  // after pass p
//     void Save(int64_t row, const Row&) const;           // residuals
//     Values<Acc, n> Store(const Row&, Acc x...) const;   // the outputs
//     Sums<Acc, m> Column(const Row&, Acc x...) const;    // terms of the sums
//     // Optional:
//     Values<Acc, 1> StoreAdded(const Row&, Acc) const;
//     bool Accepts(const Row&) const;
//   };
//
// S is a statistic: Sums, Max, or another struct. It has an array `value` of
// one or two numbers, Initial(), and two Combine functions: one combines two
// numbers, the other combines whole statistics. x... are the elements of the
// inputs, widened: first those of the rows, then those of the weights. Column
// gives the term of each weight's gradient, in the order of the weights. If a
// call wants only these gradients, no pass runs, and the row is as Load made
// it.
//
// StoreAdded is Store, but gets the number that Add returned in the last pass.
//
// With Accepts, the first pass may see only a sample of the row.
// Accepts then tells whether the results of the passes are good. If not, all
// passes run again over the whole row.
//
// A formula may have two more formulas: First, and Rest, which is a base of it.
// First stores the last output. Rest reads that as its only input. The CPU runs
// both for rows of 16 bits, to round once. In all other cases the formula
// itself runs.
//
// A formula that rounds to the type of the rows is a template of that type and
// of Acc.
#ifndef XLA_FFI_OPS_ROWS_FORMULA_H_
#define XLA_FFI_OPS_ROWS_FORMULA_H_

#include <cmath>
#include <limits>
#include <type_traits>

#include "xla_ffi_ops/vec/compensated.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/float16.h"
#include "xla_ffi_ops/vec/row_map.h"  // IWYU pragma: export
#ifdef __CUDACC__
#include "xla_ffi_ops/vec/convert.cuh"
#endif

namespace xla_ffi_ops {

// The number of a pass, for overloads.
template <int p>
struct Pass {};

// The weights of a formula: the number that stands for each if it is absent.
template <int... absent>
struct WeightDefaults {
  static constexpr int kSize = sizeof...(absent);

  XLA_FFI_OPS_HD static constexpr float Absent(int i) {
    // x + -0.0 is x for every x, and compiled to nothing.
    constexpr float values[] = {
        (absent == 0 ? -0.0f : static_cast<float>(absent))..., 0};
    return values[i];
  }
};

template <typename Acc, int n>
struct Values {
  Acc value[n];
};

template <typename Acc, int n>
struct Sums {
  static_assert(n <= 2);
  Acc value[n];

  XLA_FFI_OPS_HD static Sums Initial() { return {}; }
  XLA_FFI_OPS_HD static Acc Combine(Acc a, Acc b) { return a + b; }
  XLA_FFI_OPS_HD void Combine(
      const Sums& other) {  // A loop would not be vectorized.
    value[0] += other.value[0];
    if constexpr (n > 1) value[1] += other.value[1];
  }
};

// Combines statistics: Sums with compensation.
template <typename S>
class CompensatedTotal {
 public:
  XLA_FFI_OPS_HD void Add(const S& s) { total_.Combine(s); }
  XLA_FFI_OPS_HD S value() const { return total_; }

 private:
  S total_ = S::Initial();
};

template <typename Acc, int n>
class CompensatedTotal<Sums<Acc, n>> {
 public:
  XLA_FFI_OPS_HD void Add(const Sums<Acc, n>& s) {
    for (int i = 0; i < n; ++i) totals_[i].Add(s.value[i]);
  }
  XLA_FFI_OPS_HD Sums<Acc, n> value() const {
    Sums<Acc, n> sums;
    for (int i = 0; i < n; ++i) sums.value[i] = totals_[i].value();
    return sums;
  }

 private:
  Compensated<Acc> totals_[n];
};

// Of numbers: a NaN may or may not be the result.
template <typename Acc>
struct Max {
  static constexpr Acc kLeast = -std::numeric_limits<Acc>::infinity();
  Acc value[1];

  XLA_FFI_OPS_HD static Max Initial() { return {{kLeast}}; }
  XLA_FFI_OPS_HD static Acc Combine(Acc a, Acc b) { return a < b ? b : a; }
  XLA_FFI_OPS_HD void Combine(const Max& other) {
    value[0] = Combine(value[0], other.value[0]);
  }
};

// Whether a formula has StoreAdded.
template <typename F, typename = void>
inline constexpr bool kStoresAdded = false;
template <typename F>
inline constexpr bool kStoresAdded<F, std::void_t<decltype(&F::StoreAdded)>> =
    true;

// Whether a formula has Accepts.
template <typename F, typename = void>
inline constexpr bool kAccepts = false;
template <typename F>
inline constexpr bool kAccepts<F, std::void_t<decltype(&F::Accepts)>> = true;

// Whether a formula has First and Rest.
template <typename F, typename = void>
inline constexpr bool kHasFirst = false;
template <typename F>
inline constexpr bool kHasFirst<F, std::void_t<typename F::First>> = true;

// `value` as it is after it was stored in a T.
template <typename T>
XLA_FFI_OPS_HD Accumulator<T> Rounded(Accumulator<T> value) {
#ifdef __CUDA_ARCH__
  return internal::Widen(RoundTo<T>(value));
#else
  if constexpr (std::is_same_v<T, Float16>) return Float16::Rounded(value);
  return static_cast<T>(value);
#endif
}

template <typename Acc>
XLA_FFI_OPS_HD Acc ReciprocalSqrt(Acc value) {
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(Acc) == sizeof(float)) return __frsqrt_rn(value);
#endif
  return 1 / std::sqrt(value);
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_ROWS_FORMULA_H_
