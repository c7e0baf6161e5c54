// SPDX-License-Identifier: Apache-2.0
// What a CPU kernel writes, and weights that may be absent.
#ifndef XLA_FFI_OPS_KIT_OUTPUTS_H_
#define XLA_FFI_OPS_KIT_OUTPUTS_H_

#include <cstdint>
#include <vector>

#include "xla_ffi_ops/kit/device.h"
#include "xla_ffi_ops/kit/rows.h"

namespace xla_ffi_ops {

// What is written: n arrays of the same rows.
template <typename T, int n>
struct Outputs {
  static constexpr int kSize = n;
  T* data[n > 0 ? n : 1];

  XLA_FFI_OPS_HD Outputs At(int64_t offset) const {
    Outputs at = *this;
    for (int i = 0; i < n; ++i) at.data[i] += offset;
    return at;
  }
};
template <typename T, typename... Same>
Outputs(T*, Same*...) -> Outputs<T, 1 + sizeof...(Same)>;

template <typename Acc>
inline constexpr Outputs<Acc, 0> kNoSums = {};

// A weight, or rows of `value` if it is not there. For ops of several weights:
// a kernel for each choice of them would take long to compile.
template <typename W>
class OrFilled {
 public:
  OrFilled(const Rows<const W>& weight, float value, int64_t cols)
      : rows_(weight) {
    if (weight.data != nullptr) return;
    memory_.assign(cols, W(value));
    rows_ = {memory_.data(), cols, {}};
  }
  OrFilled(const OrFilled&) = delete;

  XLA_FFI_OPS_HD const W* operator[](int64_t row) const { return rows_[row]; }

 private:
  Rows<const W> rows_;
  std::vector<W> memory_;
};

// Where several weights' gradients go: to `sums`, one behind the other for the
// weights that are there, and out of the way for the others.
template <typename Acc, int n>
class WeightSums {
 public:
  template <typename... W>
  WeightSums(Acc* sums, int64_t cols, const Rows<const W>&... weight) {
    int i = 0;
    for (const bool there : {weight.data != nullptr...}) {
      if (!there) unused_.resize(cols);
      outputs.data[i++] = there ? sums : unused_.data();
      if (there) sums += cols;
    }
  }
  WeightSums(const WeightSums&) = delete;

  Outputs<Acc, n> outputs;

 private:
  std::vector<Acc> unused_;
};
template <typename Acc, typename... W>
WeightSums(Acc*, int64_t, const Rows<const W>&...)
    -> WeightSums<Acc, sizeof...(W)>;

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_KIT_OUTPUTS_H_
