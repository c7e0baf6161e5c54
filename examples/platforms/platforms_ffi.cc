// SPDX-License-Identifier: Apache-2.0
// One target for both platforms, and one for CUDA that has an attribute more.
#include <cstdint>
#include <string>
#include <type_traits>

#include "platforms.h"
#include "xla_ffi_ops/ffi.h"

namespace platforms {
namespace {

namespace ffi = xla::ffi;

template <typename Device>
xla_ffi_ops::HandlerResult Tuned(Device device, int64_t threads,
                                 ffi::AnyBuffer x,
                                 ffi::Result<ffi::AnyBuffer> y) {
  xla_ffi_ops::Checks checks;
  checks.Operand("x", x, ffi::F32, {});
  checks.Result("y", *y, ffi::F32, {});
  if (!checks.ok()) return checks.error();
  return xla_ffi_ops::ForRows(device, xla_ffi_ops::Product(checks.loops()),
                              2 * sizeof(float),
                              [threads, x = xla_ffi_ops::Data<float>(x),
                               y = xla_ffi_ops::Data<float>(*y)](
                                  auto where, int64_t begin, int64_t end) {
                                Square(where, threads, begin, end, x, y);
                                return ffi::Error::Success();
                              });
}

template <typename Device>
xla_ffi_ops::HandlerResult Plain(Device device, ffi::AnyBuffer x,
                                 ffi::Result<ffi::AnyBuffer> y) {
  return Tuned(device, 256, x, y);
}

// The macro makes handlers for all platforms. Where one makes no sense, say so.
template <typename Device>
xla_ffi_ops::HandlerResult CudaOnly(Device device, int64_t threads,
                                    ffi::AnyBuffer x,
                                    ffi::Result<ffi::AnyBuffer> y) {
  if (threads < 1 || threads > 1024) {
    return ffi::Error::InvalidArgument("threads must be 1 to 1024, got " +
                                       std::to_string(threads));
  }
  if constexpr (std::is_same_v<Device, xla_ffi_ops::Cuda>) {
    return Tuned(device, threads, x, y);
  }
  return ffi::Error(ffi::ErrorCode::kUnimplemented, "call it on CUDA alone");
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(example_square, Plain,
                           .Arg<ffi::AnyBuffer>()        // x
                               .Ret<ffi::AnyBuffer>());  // y
XLA_FFI_OPS_DEFINE_HANDLER(example_square_tuned, CudaOnly,
                           .Attr<int64_t>("threads")
                               .Arg<ffi::AnyBuffer>()    // x
                               .Ret<ffi::AnyBuffer>());  // y

}  // namespace platforms
