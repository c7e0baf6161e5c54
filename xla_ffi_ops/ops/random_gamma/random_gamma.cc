// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/ops/random_gamma/random_gamma.h"

#include <cstdint>

#include "xla_ffi_ops/random/columns.h"
#include "xla_ffi_ops/random/gamma_lanes.h"
#include "xla_ffi_ops/vec/cpu_level.h"
#include "xla_ffi_ops/vec/math/math_vector.h"

namespace xla_ffi_ops {
namespace {

template <bool partitionable, typename T>
void RunAs(const GammaDraws<T>& call, int64_t begin, int64_t end) {
  AtCpuLevel([&](auto level) XLA_FFI_OPS_INLINED {
    math::AssumeLevel<level>();
    using V = math::VecOfBytes<T, kVectorBytes<level>>;
    constexpr int kLanes = math::kLanesOf<V>;
    for (int64_t i = begin; i < end; i += kLanes) {
      const auto keys =
          random::LoadKeys<math::Like<uint32_t, V>>(call.key, i, end - i);
      const V alpha = random::LoadColumn<V>(call.alpha, 0, i, end - i);
      const V sample = random::Gamma<partitionable>(keys, alpha, call.log_space,
                                                    call.log1p_from);
      random::StoreLanes(sample, end - i, call.sample + i);
    }
  });
}

}  // namespace

template <typename T>
void RunGamma(const GammaDraws<T>& call, int64_t begin, int64_t end) {
  call.partitionable ? RunAs<true>(call, begin, end)
                     : RunAs<false>(call, begin, end);
}

template void RunGamma(const GammaDraws<float>&, int64_t, int64_t);
template void RunGamma(const GammaDraws<double>&, int64_t, int64_t);

}  // namespace xla_ffi_ops
