// SPDX-License-Identifier: Apache-2.0
// y[i] = x[i] * x[i] for i in begin to end.
#ifndef PLATFORMS_H_
#define PLATFORMS_H_

#include <cstdint>

#include "xla_ffi_ops/vec/device.h"

namespace platforms {

inline void Square(xla_ffi_ops::Cpu, int64_t, int64_t begin, int64_t end,
                   const float* x, float* y) {
  for (int64_t i = begin; i < end; ++i) y[i] = x[i] * x[i];
}

// With blocks of so many threads. Only enqueues the work; throws if that fails.
void Square(xla_ffi_ops::Cuda device, int64_t threads, int64_t begin,
            int64_t end, const float* x, float* y);

}  // namespace platforms

#endif  // PLATFORMS_H_
