// SPDX-License-Identifier: Apache-2.0
// Weights that are absent, as rows in memory.
#ifndef XLA_FFI_OPS_KIT_FILLED_WEIGHTS_H_
#define XLA_FFI_OPS_KIT_FILLED_WEIGHTS_H_

#include <cstdint>
#include <vector>

#include "xla_ffi_ops/kit/run_formula.h"

namespace xla_ffi_ops::internal {

// Gives each weight of `arrays` that is absent a row, while it lives.
template <typename F, typename T, typename W>
class FilledWeights {
 public:
  FilledWeights(RowArrays<F, T, W>& arrays, int64_t cols) {
    for (int i = 0; i < F::Weights::kSize; ++i) {
      if (arrays.weights[i].data != nullptr) continue;
      memory_[i].assign(cols, W(F::Weights::Absent(i)));
      arrays.weights[i] = {memory_[i].data(), cols, {}};
    }
  }
  FilledWeights(const FilledWeights&) = delete;

 private:
  std::vector<W> memory_[F::Weights::kSize + 1];
};

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_KIT_FILLED_WEIGHTS_H_
