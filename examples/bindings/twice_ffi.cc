// SPDX-License-Identifier: Apache-2.0
// y = 2 x, with XLA's own macros: the header declares what this defines.
#include <algorithm>
#include <cstdint>

#include "twice.h"
#include "xla/ffi/api/ffi.h"

namespace {

namespace ffi = xla::ffi;

ffi::Error Twice(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y) {
  if (x.element_count() != y->element_count()) {
    return ffi::Error::InvalidArgument("y must have as many elements as x");
  }
  std::transform(x.typed_data(), x.typed_data() + x.element_count(),
                 y->typed_data(), [](float value) { return 2 * value; });
  return ffi::Error::Success();
}

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(
    example_twice_cpu, Twice,
    ffi::Ffi::Bind().Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>());
