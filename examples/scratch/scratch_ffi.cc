// SPDX-License-Identifier: Apache-2.0
// Two ways to temporary memory: an array is smoothed into it, and from it into
// the result.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "scratch.h"
#include "xla_ffi_ops/ffi.h"

namespace scratch {
namespace {

namespace ffi = xla::ffi;

using Vector = ffi::BufferR1<ffi::F32>;

// On a stream, the second pass begins when the first has ended.
template <typename Where>
void SmoothTwice(Where where, const Vector& x, float* temporary, float* y) {
  Smooth(where, x.dimensions()[0], x.typed_data(), temporary);
  Smooth(where, x.dimensions()[0], temporary, y);
}

[[maybe_unused]] xla_ffi_ops::Cpu Where(xla_ffi_ops::CpuContext) { return {}; }
[[maybe_unused]] xla_ffi_ops::Cuda Where(xla_ffi_ops::Cuda device) {
  return device;
}

ffi::Error CheckSize(const char* name, const Vector& buffer, const Vector& x) {
  const int64_t size = buffer.dimensions()[0], expected = x.dimensions()[0];
  if (size == expected) return ffi::Error::Success();
  return ffi::Error::InvalidArgument(
      std::string(name) + " must have " + std::to_string(expected) +
      " elements, as x, got " + std::to_string(size));
}

// The memory is a result that nobody reads.
template <typename Device>
ffi::Error WithResult(Device device, Vector x, ffi::Result<Vector> y,
                      ffi::Result<Vector> temporary) {
  if (ffi::Error e = CheckSize("y", *y, x); e.failure()) return e;
  if (ffi::Error e = CheckSize("temporary", *temporary, x); e.failure()) {
    return e;
  }
  if (x.element_count() == 0) return ffi::Error::Success();
  SmoothTwice(Where(device), x, temporary->typed_data(), y->typed_data());
  return ffi::Error::Success();
}

// The memory is XLA's from here to the end of the function. What is on the
// stream by then may still use it: XLA gives it to later work on the stream.
template <typename Device>
ffi::Error WithAllocator(Device device, ffi::ScratchAllocator allocator,
                         Vector x, ffi::Result<Vector> y) {
  if (ffi::Error e = CheckSize("y", *y, x); e.failure()) return e;
  if (x.element_count() == 0) return ffi::Error::Success();
  const size_t bytes = x.element_count() * sizeof(float);
  const std::optional<void*> memory = allocator.Allocate(bytes, alignof(float));
  if (!memory) {
    return ffi::Error(ffi::ErrorCode::kResourceExhausted,
                      "no " + std::to_string(bytes) + " bytes of scratch");
  }
  SmoothTwice(Where(device), x, static_cast<float*>(*memory), y->typed_data());
  return ffi::Error::Success();
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(example_smooth_result, WithResult,
                           .Arg<Vector>()        // x
                               .Ret<Vector>()    // y
                               .Ret<Vector>());  // temporary

// XLA's own macro: XLA_FFI_OPS_DEFINE_HANDLER would tell XLA that it may record
// the CUDA handler in a graph, which would use the memory again when it runs.
#define DEFINE(symbol, Device)                                    \
  XLA_FFI_DEFINE_HANDLER_SYMBOL(symbol, WithAllocator<Device>,    \
                                ffi::Ffi::Bind()                  \
                                    .Ctx<Device>()                \
                                    .Ctx<ffi::ScratchAllocator>() \
                                    .Arg<Vector>()  /* x */       \
                                    .Ret<Vector>()) /* y */

// The allocator has no memory on the CPU: there to show the error.
DEFINE(example_smooth_allocator_cpu, xla_ffi_ops::CpuContext);
#ifdef XLA_FFI_OPS_CUDA
DEFINE(example_smooth_allocator_cuda, xla_ffi_ops::Cuda);
#endif

}  // namespace scratch
