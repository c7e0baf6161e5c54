// SPDX-License-Identifier: Apache-2.0
// Handlers of squash(x) = x / (1 + k |x|) and of its slope, with k as a state.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace {

struct Factor {
  static ffi::TypeId id;
  float k;
};

ffi::TypeId Factor::id = {};

ffi::ErrorOr<std::unique_ptr<Factor>> Instantiate(float sharpness) {
  if (!(sharpness >= 0)) {
    return ffi::Unexpected(ffi::Error::InvalidArgument("sharpness < 0"));
  }
  return std::make_unique<Factor>(Factor{sharpness * sharpness});
}

ffi::Error Squash(Factor* factor, ffi::Buffer<ffi::F32> x,
                  ffi::ResultBuffer<ffi::F32> y,
                  ffi::ResultBuffer<ffi::F32> slope) {
  for (auto result : {y, slope}) {
    const auto in = x.dimensions(), out = result->dimensions();
    if (!std::equal(in.begin(), in.end(), out.begin(), out.end())) {
      return ffi::Error::InvalidArgument("x and results must have one shape");
    }
  }
  for (size_t i = 0; i < x.element_count(); ++i) {
    const float value = x.typed_data()[i];
    const float r = 1 / (1 + factor->k * std::abs(value));
    y->typed_data()[i] = value * r;
    slope->typed_data()[i] = r * r;
  }
  return ffi::Error::Success();
}

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(
    SquashInstantiate, Instantiate,
    ffi::Ffi::BindInstantiate().Attr<float>("sharpness"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(SquashExecute, Squash,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::State<Factor>>()
                                  .Arg<ffi::Buffer<ffi::F32>>()    // x
                                  .Ret<ffi::Buffer<ffi::F32>>()    // y
                                  .Ret<ffi::Buffer<ffi::F32>>());  // slope

extern "C" ffi::TypeId* SquashTypeId() { return &Factor::id; }
extern "C" const ffi::TypeInfo* SquashTypeInfo() {
  static const auto info = ffi::MakeTypeInfo<Factor>();
  return &info;
}
