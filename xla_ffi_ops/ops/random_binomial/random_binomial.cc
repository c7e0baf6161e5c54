// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/ops/random_binomial/random_binomial.h"

#include <cstdint>
#include <memory>

#include "xla_ffi_ops/random/array_draws.h"
#include "xla_ffi_ops/random/array_kernel.h"
#include "xla_ffi_ops/random/binomial_lanes.h"
#include "xla_ffi_ops/random/columns.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/math/math_vector.h"

namespace xla_ffi_ops {
namespace {

// See random/array_draws.h.
struct BinomialOp : BinomialDraws {
  template <typename V>
  XLA_FFI_OPS_HD random::BinomialLanes<V> FromRow(int64_t row, int64_t begin,
                                                  int64_t count) const {
    return {random::LoadLanes<V>(trials[row] + begin, count),
            random::LoadLanes<V>(probability[row] + begin, count)};
  }
  template <typename V>
  XLA_FFI_OPS_HD random::BinomialLanes<V> FromRows(int64_t row,
                                                   int64_t count) const {
    return {random::LoadColumn<V>(trials, 0, row, count),
            random::LoadColumn<V>(probability, 0, row, count)};
  }
  template <typename V>
  XLA_FFI_OPS_HD void Store(V samples, math::Bits<V> which,
                            int64_t index) const {
    random::StoreSome(samples, which, sample + index);
  }
};

}  // namespace

std::unique_ptr<const random::ArrayKernel> BinomialKernel(
    const BinomialDraws& call) {
  return std::make_unique<random::ArrayKernelOf<BinomialOp>>(BinomialOp{call});
}

}  // namespace xla_ffi_ops
