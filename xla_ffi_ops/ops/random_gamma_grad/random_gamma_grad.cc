// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/ops/random_gamma_grad/random_gamma_grad.h"

#include <cstdint>

#include "xla_ffi_ops/random/columns.h"
#include "xla_ffi_ops/vec/cpu_level.h"
#include "xla_ffi_ops/vec/math/gamma.h"
#include "xla_ffi_ops/vec/math/math_vector.h"

namespace xla_ffi_ops {

template <typename T>
void RunGammaGrads(const GammaGrads<T>& call, int64_t begin, int64_t end) {
  AtCpuLevel([&](auto level) XLA_FFI_OPS_INLINED {
    math::AssumeLevel<level>();
    using V = math::VecOfBytes<T, kVectorBytes<level>>;
    for (int64_t i = begin; i < end; i += math::kLanesOf<V>) {
      const V alpha = random::LoadColumn<V>(call.alpha, 0, i, end - i);
      const V sample = random::LoadColumn<V>(call.sample, 0, i, end - i);
      random::StoreLanes(math::GammaSampleGrad(alpha, sample), end - i,
                         call.slope + i);
    }
  });
}

template void RunGammaGrads(const GammaGrads<float>&, int64_t, int64_t);
template void RunGammaGrads(const GammaGrads<double>&, int64_t, int64_t);

}  // namespace xla_ffi_ops
