// SPDX-License-Identifier: Apache-2.0
// What an FFI handler is written with: devices, checks, row views, and the
// macro that exports one handler for every device. Only handlers (*_ffi.cc)
// include this; kernels see neither it nor XLA.
#ifndef XLA_FFI_OPS_FFI_H_
#define XLA_FFI_OPS_FFI_H_

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "xla/ffi/api/ffi.h"
#include "xla_ffi_ops/checks.h"
#include "xla_ffi_ops/device.h"
#include "xla_ffi_ops/dtype.h"
#include "xla_ffi_ops/parallel.h"
#include "xla_ffi_ops/rows.h"

namespace xla_ffi_ops {

namespace ffi = ::xla::ffi;

// The device argument of a handler that runs on the CPU.
struct CpuContext {
  ffi::ThreadPool pool;
};

// The elements of a buffer whose dtype was checked.
template <typename T>
T* Data(const ffi::AnyBuffer& buffer) {
  return static_cast<T*>(buffer.untyped_data());
}

// Calls body(Cpu, begin, end) for ranges that cover `rows` rows, each of which
// moves about `bytes_per_row` bytes. On CUDA, the whole range in one call.
template <typename Body>
Status ForRows(CpuContext& device, int64_t rows, int64_t bytes_per_row,
               Body body) {
  return ParallelFor(device.pool, rows, Grain(bytes_per_row),
                     [=](int64_t begin, int64_t end) {
                       body(Cpu{}, begin, end);
                     });
}

namespace internal {

template <typename Fn>
Status CatchExceptions(const char* op, Fn fn) {
  try {
    return fn();
  } catch (const std::exception& e) {  // std::bad_alloc, for one
    return ffi::Error::Internal(op + std::string(": ") + e.what());
  }
}

// XLA's own decoding errors (a wrong number of operands, a wrong attribute) do
// not say which handler they come from; ours begin with its name.
inline XLA_FFI_Error* NameError(const char* op, const XLA_FFI_Api* api,
                                XLA_FFI_Error* error) {
  if (error == nullptr) return nullptr;
  const std::string message = ffi::internal::GetErrorMessage(api, error);
  if (message.rfind(op, 0) == 0) return error;
  ffi::internal::DestroyError(api, error);
  return ffi::internal::CreateError(
      api, ffi::Error::InvalidArgument(op + (": " + message)));
}

}  // namespace internal
}  // namespace xla_ffi_ops

namespace xla::ffi {

template <>
struct CtxDecoding<xla_ffi_ops::CpuContext> {
  using Type = xla_ffi_ops::CpuContext;

  static std::optional<Type> Decode(const XLA_FFI_Api* api,
                                    XLA_FFI_ExecutionContext* ctx,
                                    DiagnosticEngine& diagnostic) {
    return Type{*CtxDecoding<ThreadPool>::Decode(api, ctx, diagnostic)};
  }
};

}  // namespace xla::ffi

// Exports `name_cpu`, the handler of the FFI target `name` for the CPU.
//
// `impl` is a template <typename Device> Status impl(const char* op, Device
// device, ...): `op` is the target's name for messages, and the rest is what
// `binding` (a chain of .Attr<T>("name"), .Arg<T>() and .Ret<T>()) decodes.
#define XLA_FFI_OPS_DEFINE_HANDLER(name, impl, binding)                       \
  extern "C" XLA_FFI_Error* name##_cpu(XLA_FFI_CallFrame* frame) {            \
    static auto* const handler =                                              \
        ::xla::ffi::Ffi::Bind()                                               \
            .Ctx<::xla_ffi_ops::CpuContext>() binding                         \
            .To([](auto&&... args) {                                          \
              return ::xla_ffi_ops::internal::CatchExceptions(#name, [&] {    \
                return impl(#name, std::forward<decltype(args)>(args)...);    \
              });                                                             \
            })                                                                \
            .release();                                                       \
    return ::xla_ffi_ops::internal::NameError(#name, frame->api,              \
                                              handler->Call(frame));          \
  }                                                                           \
  static_assert(true, "a semicolon follows")

#endif  // XLA_FFI_OPS_FFI_H_
