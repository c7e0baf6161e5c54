// SPDX-License-Identifier: Apache-2.0
// y = factor * x as a custom call of the API before FFI, and by FFI.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <type_traits>

#include "examples/scale/scale.h"
#include "xla_ffi_ops/ffi.h"

// XLA's own, and nobody else can use one: jaxlib does not export what sets it.
struct XlaCustomCallStatus;

namespace legacy {
namespace {

namespace ffi = xla::ffi;

// What a legacy call is told beside its arrays, whose sizes it is not told.
struct Descriptor {
  int64_t n;
  float factor;
};
static_assert(std::is_trivially_copyable_v<Descriptor>);

// A legacy call cannot fail, and an exception would end the process, too.
[[noreturn]] void Fail(const std::string& message) {
  std::fprintf(stderr, "example_legacy: %s\n", message.c_str());
  std::abort();
}

Descriptor Unpack(const char* opaque, size_t length) {
  Descriptor descriptor;
  if (length != sizeof(descriptor)) {
    Fail("the descriptor must have " + std::to_string(sizeof(descriptor)) +
         " bytes, got " + std::to_string(length));
  }
  std::memcpy(&descriptor, opaque, sizeof(descriptor));
  if (descriptor.n < 0) {
    Fail("n must be 0 or more, got " + std::to_string(descriptor.n));
  }
  return descriptor;
}

[[maybe_unused]] xla_ffi_ops::Cpu Where(xla_ffi_ops::CpuContext) { return {}; }
[[maybe_unused]] xla_ffi_ops::Cuda Where(xla_ffi_ops::Cuda device) {
  return device;
}

using Vector = ffi::BufferR1<ffi::F32>;

// The same by FFI: arrays have sizes, attributes have types, errors are values.
template <typename Device>
ffi::Error Typed(Device device, float factor, Vector x, ffi::Result<Vector> y) {
  const int64_t n = x.dimensions()[0], size = y->dimensions()[0];
  if (size != n) {
    return ffi::Error::InvalidArgument("y must have " + std::to_string(n) +
                                       " elements, as x, got " +
                                       std::to_string(size));
  }
  if (n > 0) {
    scale::Scale(Where(device), n, factor, x.typed_data(), y->typed_data());
  }
  return ffi::Error::Success();
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(example_typed, Typed,
                           .Attr<float>("factor")
                               .Arg<Vector>()    // x
                               .Ret<Vector>());  // y

// For the host, in the order of XLA's versions. The first two have no
// descriptor: n and factor are arrays.
extern "C" void example_legacy_1_cpu(void* out, const void** in) {
  scale::Scale(xla_ffi_ops::Cpu(), *static_cast<const int32_t*>(in[0]),
               *static_cast<const float*>(in[1]),
               static_cast<const float*>(in[2]), static_cast<float*>(out));
}

extern "C" void example_legacy_2_cpu(void* out, const void** in,
                                     XlaCustomCallStatus*) {
  example_legacy_1_cpu(out, in);
}

extern "C" void example_legacy_3_cpu(void* out, const void** in,
                                     const char* opaque, size_t opaque_len,
                                     XlaCustomCallStatus*) {
  const Descriptor d = Unpack(opaque, opaque_len);
  scale::Scale(xla_ffi_ops::Cpu(), d.n, d.factor,
               static_cast<const float*>(in[0]), static_cast<float*>(out));
}

// For a GPU: operands and then results. Versions 2 and 3 add a status.
#ifdef XLA_FFI_OPS_CUDA
extern "C" void example_legacy_3_cuda(CUstream_st* stream, void** buffers,
                                      const char* opaque, size_t opaque_len) {
  const Descriptor d = Unpack(opaque, opaque_len);
  if (d.n == 0) return;
  try {
    scale::Scale(xla_ffi_ops::Cuda{stream}, d.n, d.factor,
                 static_cast<const float*>(buffers[0]),
                 static_cast<float*>(buffers[1]));
  } catch (const std::exception& e) {
    Fail(e.what());
  }
}
#endif

// Writes the bytes of a descriptor if there is room. Returns how many.
extern "C" size_t example_legacy_pack_cpu(int64_t n, float factor, char* opaque,
                                          size_t room) {
  if (room >= sizeof(Descriptor)) {
    Descriptor descriptor;
    std::memset(&descriptor, 0, sizeof(descriptor));  // Also after the members.
    descriptor.n = n;
    descriptor.factor = factor;
    std::memcpy(opaque, &descriptor, sizeof(descriptor));
  }
  return sizeof(Descriptor);
}

}  // namespace legacy
