// SPDX-License-Identifier: Apache-2.0
// The linear part of relu's derivative: y = x > 0 ? t : 0.
#include <cstddef>

#include "xla_ffi_ops/ffi.h"

namespace {

namespace ffi = xla::ffi;

xla_ffi_ops::HandlerResult Gate(xla_ffi_ops::CpuContext, ffi::AnyBuffer x,
                                ffi::AnyBuffer t,
                                ffi::Result<ffi::AnyBuffer> y) {
  for (const ffi::AnyBuffer& buffer : {x, t, *y}) {
    if (buffer.element_type() != ffi::F32 ||
        xla_ffi_ops::ToString(buffer.dimensions()) !=
            xla_ffi_ops::ToString(x.dimensions())) {
      return ffi::Error::InvalidArgument(
          "x, t and y must be float32" + xla_ffi_ops::ToString(x.dimensions()) +
          ", got " + xla_ffi_ops::Name(buffer.element_type()) +
          xla_ffi_ops::ToString(buffer.dimensions()));
    }
  }
  const float* const from = xla_ffi_ops::Data<float>(x);
  const float* const tangent = xla_ffi_ops::Data<float>(t);
  float* const out = xla_ffi_ops::Data<float>(*y);
  for (size_t i = 0; i < x.element_count(); ++i) {
    out[i] = from[i] > 0 ? tangent[i] : 0;
  }
  return ffi::Error::Success();
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(example_relu_gate, Gate,
                           .Arg<ffi::AnyBuffer>()        // x
                               .Arg<ffi::AnyBuffer>()    // t
                               .Ret<ffi::AnyBuffer>());  // y
