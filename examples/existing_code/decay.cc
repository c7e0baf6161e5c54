// SPDX-License-Identifier: Apache-2.0
// Existing code: a handler that knows nothing of the kit. y = exp(-rate x), for
// arrays of one size.
#include <cmath>
#include <cstddef>

#include "xla/ffi/api/ffi.h"

namespace {

namespace ffi = xla::ffi;

ffi::Error Decay(ffi::Buffer<ffi::F32> x, ffi::Buffer<ffi::F32> rate,
                 ffi::ResultBuffer<ffi::F32> y) {
  const size_t n = x.element_count();
  if (rate.element_count() != n || y->element_count() != n) {
    return ffi::Error::InvalidArgument("x, rate and y must have one size");
  }
  for (size_t i = 0; i < n; ++i) {
    y->typed_data()[i] = std::exp(-rate.typed_data()[i] * x.typed_data()[i]);
  }
  return ffi::Error::Success();
}

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(DecayHandler, Decay,
                              ffi::Ffi::Bind()
                                  .Arg<ffi::Buffer<ffi::F32>>()    // x
                                  .Arg<ffi::Buffer<ffi::F32>>()    // rate
                                  .Ret<ffi::Buffer<ffi::F32>>());  // y
