// SPDX-License-Identifier: Apache-2.0
// Arrays of 16-bit types as arrays of float, a few rows at a time.
#ifndef XLA_FFI_OPS_KIT_WIDENED_ROWS_H_
#define XLA_FFI_OPS_KIT_WIDENED_ROWS_H_

#include <algorithm>
#include <cstdint>
#include <memory>

#include "xla_ffi_ops/kit/float16_rows.h"
#include "xla_ffi_ops/kit/rows.h"
#include "xla_ffi_ops/kit/run_formula.h"

namespace xla_ffi_ops::internal {

// Rows of floats. As a vector it would be filled with zeros first.
class FloatRows {
 public:
  FloatRows() = default;
  FloatRows(int64_t rows, int64_t cols)
      : memory_(new float[rows * cols]), cols_(cols) {}

  explicit operator bool() const { return memory_ != nullptr; }
  float* row(int64_t i) const { return memory_.get() + i * cols_; }
  // Where row 0 would be if the first of these was row `begin`.
  float* Before(int64_t begin) const { return row(-begin); }

 private:
  std::unique_ptr<float[]> memory_;
  int64_t cols_ = 0;
};

// Rows of one array.
template <typename T>
class WidenedRows {
 public:
  // Rows begin to end, until the next call; there are at most `max_rows`.
  Rows<const float> Take(const Rows<const T>& rows, int64_t begin, int64_t end,
                         int64_t max_rows) {
    const bool is_shared = rows.map.dims == 1 && rows.map.stride[0] == 0;
    const bool is_first = !memory_;
    if (is_first) memory_ = FloatRows(is_shared ? 1 : max_rows, rows.cols);
    if (is_shared) {
      if (is_first) WidenRow(rows[begin], memory_.row(0), rows.cols);
      return {memory_.row(0), rows.cols, {}};
    }
    for (int64_t row = begin; row < end; ++row) {
      WidenRow(rows[row], memory_.row(row - begin), rows.cols);
    }
    RowMap each;
    each.stride[0] = 1;
    return {memory_.Before(begin), rows.cols, each};
  }

 private:
  FloatRows memory_;
};
template <>
class WidenedRows<float> {
 public:
  Rows<const float> Take(const Rows<const float>& rows, int64_t, int64_t,
                         int64_t) {
    return rows;
  }
};

// All arrays of a call, for up to `rows` rows.
template <bool kPlain, typename F, typename T, typename W>
class WidenedArrays {
 public:
  WidenedArrays(const RowArrays<F, T, W>& arrays, int64_t rows, int64_t cols)
      : arrays_(arrays), cols_(cols) {
    // Two arrays have room in a first-level cache of 32 KiB. Kernels add up
    // sums over 4 rows at once.
    constexpr int64_t kElements = 4096;
    constexpr int64_t kLeast = kPlain || F::kSums == 0 ? 1 : 4;
    const int64_t most = kElements / std::max<int64_t>(1, cols) / 4 * 4;
    max_rows_ = std::min(rows, std::max(kLeast, most));
    for (auto& output : outputs_) output = FloatRows(max_rows_, cols);
  }

  int64_t max_rows() const { return max_rows_; }

  // Rows begin to end. Its outputs are for Store.
  RowArrays<F, float, float> Take(int64_t begin, int64_t end) {
    RowArrays<F, float, float> widened = {};
    for (int i = 0; i < F::kInputs; ++i) {
      widened.inputs[i] =
          inputs_[i].Take(arrays_.inputs[i], begin, end, max_rows_);
    }
    for (int i = 0; i < F::Weights::kSize && !kPlain; ++i) {
      widened.weights[i] =
          weights_[i].Take(arrays_.weights[i], begin, end, max_rows_);
    }
    for (int i = 0; i < F::kOutputs; ++i) {
      widened.outputs[i] = outputs_[i].Before(begin);
    }
    return widened;
  }
  void Store(int64_t begin, int64_t end) {
    for (int i = 0; i < F::kOutputs; ++i) {
      NarrowRow(outputs_[i].row(0), arrays_.outputs[i] + begin * cols_,
                (end - begin) * cols_);
    }
  }

 private:
  const RowArrays<F, T, W>& arrays_;
  int64_t cols_;
  int64_t max_rows_;
  WidenedRows<T> inputs_[F::kInputs];
  WidenedRows<W> weights_[F::Weights::kSize + 1];
  FloatRows outputs_[F::kOutputs];
};

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_KIT_WIDENED_ROWS_H_
