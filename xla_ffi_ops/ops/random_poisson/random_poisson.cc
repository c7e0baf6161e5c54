// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/ops/random_poisson/random_poisson.h"

#include <cstdint>
#include <memory>

#include "xla_ffi_ops/random/array_draws.h"
#include "xla_ffi_ops/random/array_kernel.h"
#include "xla_ffi_ops/random/columns.h"
#include "xla_ffi_ops/random/poisson_lanes.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/math/math_vector.h"

namespace xla_ffi_ops {
namespace {

// See random/array_draws.h.
struct PoissonOp : PoissonDraws {
  template <typename V>
  XLA_FFI_OPS_HD random::PoissonLanes<V> FromRow(int64_t row, int64_t begin,
                                                 int64_t count) const {
    return {random::LoadLanes<V>(rate[row] + begin, count), lanczos};
  }
  template <typename V>
  XLA_FFI_OPS_HD random::PoissonLanes<V> FromRows(int64_t row,
                                                  int64_t count) const {
    return {random::LoadColumn<V>(rate, 0, row, count), lanczos};
  }
  template <typename V>
  XLA_FFI_OPS_HD void Store(V counts, math::Bits<V> which,
                            int64_t index) const {
    wide ? random::StoreIntegers(counts, which,
                                 static_cast<int64_t*>(count) + index)
         : random::StoreIntegers(counts, which,
                                 static_cast<int32_t*>(count) + index);
  }
};

}  // namespace

std::unique_ptr<const random::ArrayKernel> PoissonKernel(
    const PoissonDraws& call) {
  return std::make_unique<random::ArrayKernelOf<PoissonOp>>(PoissonOp{call});
}

}  // namespace xla_ffi_ops
