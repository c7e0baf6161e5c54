// SPDX-License-Identifier: Apache-2.0
// A handler of which chosen allocations fail, its own and those of XLA's
// headers: what operator new is here, no other library sees.
#include <cstdint>

#include "tests/kit/cpp/handler/no_memory.h"
#include "xla_ffi_ops/ffi.h"

namespace xla_ffi_ops {
namespace {

// y = x + 1, a task for each element.
HandlerResult Increment(CpuContext device, int64_t first, int64_t last,
                        ffi::AnyBuffer x, ffi::Result<ffi::AnyBuffer> y) {
  const int64_t size = x.dimensions()[0];
  const float* const from = Data<const float>(x);
  float* const to = Data<float>(*y);
  NoMemory::Arm(first, last);
  return ParallelFor(device.pool, size, 1, [=](int64_t i, int64_t) {
    for (volatile int spin = 0; spin < 1000; spin = spin + 1) continue;
    to[i] = from[i] + 1;
  });
}

XLA_FFI_OPS_DEFINE_HANDLER(kit_test_no_memory, Increment,
                           .Attr<int64_t>("first")
                               .Attr<int64_t>("last")
                               .Arg<ffi::AnyBuffer>()    // x
                               .Ret<ffi::AnyBuffer>());  // y

}  // namespace
}  // namespace xla_ffi_ops
