// SPDX-License-Identifier: Apache-2.0
// A handler of softcap(x) = tanh(x / cap) * cap, with XLA's headers alone.
#include <algorithm>
#include <cmath>
#include <cstddef>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

static ffi::Error Softcap(double cap, ffi::AnyBuffer x,
                          ffi::Result<ffi::AnyBuffer> y) {
  if (!(cap >= 1e-3)) return ffi::Error::InvalidArgument("cap is too small");
  if (x.element_type() != ffi::F32 || y->element_type() != ffi::F32) {
    return ffi::Error::InvalidArgument("x and y must be float32");
  }
  const auto from = x.dimensions(), to = y->dimensions();
  if (!std::equal(from.begin(), from.end(), to.begin(), to.end())) {
    return ffi::Error::InvalidArgument("x and y must have one shape");
  }
  const float* in = x.typed_data<float>();
  float* out = y->typed_data<float>();
  const float c = static_cast<float>(cap);
  for (size_t i = 0; i < x.element_count(); ++i) {
    out[i] = std::tanh(in[i] / c) * c;
  }
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(SoftcapHandler, Softcap,
                              ffi::Ffi::Bind()
                                  .Attr<double>("cap")
                                  .Arg<ffi::AnyBuffer>()    // x
                                  .Ret<ffi::AnyBuffer>());  // y
