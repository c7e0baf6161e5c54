// SPDX-License-Identifier: Apache-2.0
// A handler for both devices, compiled as in a CUDA build. Its kernels note how
// they are called.
#include <cstdint>
#include <stdexcept>

#include "tests/kit/cpp/handler/cuda_stub.h"
#include "xla_ffi_ops/ffi.h"

namespace xla_ffi_ops {

StubCall stub_call;

namespace {

void Kernel(Cpu, int64_t begin, int64_t end) {
  stub_call = {"cpu", nullptr, begin, end};
}

void Kernel(Cuda device, int64_t begin, int64_t end) {
  stub_call = {"cuda", device.stream, begin, end};
}

template <typename Device>
HandlerResult Stub(Device device) {
  if (stub_call.throws) throw std::runtime_error("thrown");
  return ForRows(device, 1000, 1, [](auto where, int64_t begin, int64_t end) {
    Kernel(where, begin, end);
  });
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(kit_test_stub, Stub);

}  // namespace xla_ffi_ops
