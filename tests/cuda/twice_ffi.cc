// SPDX-License-Identifier: Apache-2.0
// The handler of twice, for both devices.
#include <cstdint>

#include "tests/cuda/twice.h"
#include "xla_ffi_ops/ffi.h"

namespace xla_ffi_ops {

const char* Twice(Cpu, int64_t begin, int64_t end, const float* x, float* y) {
  for (int64_t i = begin; i < end; ++i) y[i] = 2 * x[i];
  return nullptr;
}

namespace {

template <typename Device>
HandlerResult TwiceHandler(Device device, ffi::AnyBuffer x,
                           ffi::Result<ffi::AnyBuffer> y) {
  Checks checks;
  checks.Operand("x", x, ffi::F32, {});
  checks.Result("y", *y, ffi::F32, {});
  if (!checks.ok()) return checks.error();
  return ForRows(device, Product(checks.loops()), 2 * sizeof(float),
                 [x = Data<float>(x), y = Data<float>(*y)](
                     auto where, int64_t begin, int64_t end) -> ffi::Error {
                   const char* error = Twice(where, begin, end, x, y);
                   return error ? ffi::Error::Internal(error)
                                : ffi::Error::Success();
                 });
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(cuda_test_twice_fwd, TwiceHandler,
                           .Arg<ffi::AnyBuffer>()        // x
                               .Ret<ffi::AnyBuffer>());  // y

}  // namespace xla_ffi_ops
