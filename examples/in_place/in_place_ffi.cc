// SPDX-License-Identifier: Apache-2.0
// Adds 1 to an array where it is, and tells where that was.
#include <cstddef>
#include <cstdint>

#include "xla_ffi_ops/ffi.h"

namespace {

namespace ffi = xla::ffi;

xla_ffi_ops::HandlerResult Increment(xla_ffi_ops::CpuContext, ffi::AnyBuffer x,
                                     ffi::Result<ffi::AnyBuffer> y,
                                     ffi::ResultBufferR0<ffi::S64> address) {
  xla_ffi_ops::Checks checks;
  checks.Operand("x", x, ffi::F32, {});
  checks.Result("y", *y, ffi::F32, {});
  if (!checks.ok()) return checks.error();
  float* const data = xla_ffi_ops::Data<float>(*y);
  if (data != xla_ffi_ops::Data<float>(x)) {
    return ffi::Error::InvalidArgument("y must be in the memory of x");
  }
  for (size_t i = 0; i < y->element_count(); ++i) data[i] += 1;
  *address->typed_data() = reinterpret_cast<intptr_t>(data);
  return ffi::Error::Success();
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(example_increment, Increment,
                           .Arg<ffi::AnyBuffer>()                 // x
                               .Ret<ffi::AnyBuffer>()             // y
                               .Ret<ffi::BufferR0<ffi::S64>>());  // address
