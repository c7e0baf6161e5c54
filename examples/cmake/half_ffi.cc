// SPDX-License-Identifier: Apache-2.0
// y = x / 2. The headers of jaxlib are all that it needs.
#include <algorithm>

#include "xla/ffi/api/ffi.h"

namespace {

namespace ffi = xla::ffi;

ffi::Error Half(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y) {
  if (x.element_count() != y->element_count()) {
    return ffi::Error::InvalidArgument("y must have as many elements as x");
  }
  std::transform(x.typed_data(), x.typed_data() + x.element_count(),
                 y->typed_data(), [](float value) { return value / 2; });
  return ffi::Error::Success();
}

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(
    example_half_cpu, Half,
    ffi::Ffi::Bind().Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>());
