// SPDX-License-Identifier: Apache-2.0
// Handlers as XLA's documents show them, with names of their own.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>

#include "xla/ffi/api/ffi.h"

namespace {

namespace ffi = xla::ffi;

ffi::Error Twice(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y) {
  if (x.element_count() != y->element_count()) {
    return ffi::Error::InvalidArgument("sizes differ");
  }
  std::transform(x.typed_data(), x.typed_data() + x.element_count(),
                 y->typed_data(), [](float value) { return 2 * value; });
  return ffi::Error::Success();
}

struct Counter {
  static inline ffi::TypeId id = {};
  std::atomic<int32_t> calls{0};
};

// XLA has a state made before it is used, in another thread. ThreadSanitizer
// sees that order only by what our code does.
std::atomic<int32_t> made{0};

ffi::ErrorOr<std::unique_ptr<Counter>> MakeCounter() {
  auto counter = std::make_unique<Counter>();
  ++made;
  return counter;
}

ffi::Error Count(Counter* counter, ffi::ResultBufferR0<ffi::S32> calls) {
  if (made == 0) return ffi::Error::Internal("no state was made");
  *calls->typed_data() = ++counter->calls;
  return ffi::Error::Success();
}

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(
    ForeignTwice, Twice,
    ffi::Ffi::Bind().Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>());
// The name above may be the end of this one, in one string.
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    NotForeignTwice, Twice,
    ffi::Ffi::Bind().Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(ForeignMakeCount, MakeCounter,
                              ffi::Ffi::BindInstantiate());
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    ForeignCount, Count,
    ffi::Ffi::Bind().Ctx<ffi::State<Counter>>().Ret<ffi::BufferR0<ffi::S32>>());

extern "C" XLA_FFI_TypeId* ForeignCountTypeId() { return &Counter::id; }
extern "C" const XLA_FFI_TypeInfo* ForeignCountTypeInfo() {
  static const auto info = ffi::MakeTypeInfo<Counter>();
  return &info;
}
