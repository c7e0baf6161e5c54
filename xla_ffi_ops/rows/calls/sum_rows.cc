// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/rows/calls/sum_rows.h"

#include <cstdint>
#include <functional>

namespace xla_ffi_ops::internal {

template HandlerResult SumGroups(const CpuContext&, int64_t, int64_t, int64_t,
                                 int64_t, SumPart<float>,
                                 std::function<void(const float*, int64_t)>);
template HandlerResult SumGroups(const CpuContext&, int64_t, int64_t, int64_t,
                                 int64_t, SumPart<double>,
                                 std::function<void(const double*, int64_t)>);

}  // namespace xla_ffi_ops::internal
