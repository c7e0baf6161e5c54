// SPDX-License-Identifier: Apache-2.0
// The macro that exports one handler for every device.
#ifndef XLA_FFI_OPS_HANDLER_HANDLER_H_
#define XLA_FFI_OPS_HANDLER_HANDLER_H_

#include <new>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "xla/ffi/api/ffi.h"
#include "xla_ffi_ops/handler/state.h"
#include "xla_ffi_ops/threads/parallel.h"
#include "xla_ffi_ops/threads/parallel_loop.h"
#include "xla_ffi_ops/vec/device.h"

namespace xla_ffi_ops {

namespace ffi = ::xla::ffi;

namespace internal {

// `result` with the op's name before the message of its error.
HandlerResult Named(const char* op, HandlerResult result);

// Calls `handler(data)`, and names the errors that XLA's headers find before
// they get to the function: a wrong number of operands, an attribute of a wrong
// type. `binding` is the text of what the handler decodes.
XLA_FFI_Error* CallHandler(const char* op, const char* binding,
                           const ffi::Ffi& (*handler)(const void* data),
                           const void* data, XLA_FFI_CallFrame* frame);

// Asks for huge pages for the large results of a call on the CPU. Without them,
// rms_norm of 64 MiB spends most of its time in page faults.
void AskForHugePages(const XLA_FFI_CallFrame& frame);

// Resolves `promise` when `work` is done, with the op's name before an error.
void Follow(const char* op, ffi::Future work, const ffi::Promise& promise);

}  // namespace internal
}  // namespace xla_ffi_ops

// Exports `name_cpu`, the handler of the FFI target `name` for the CPU, and, in
// a library that is compiled with XLA_FFI_OPS_CUDA defined, `name_cuda`. XLA
// may record the latter in a CUDA graph: it only enqueues work, and on no
// memory but that of its buffers.
//
//   template <typename Device>
//   HandlerResult Scale(Device device, float factor, ffi::AnyBuffer x,
//                ffi::Result<ffi::AnyBuffer> y);
//
//   XLA_FFI_OPS_DEFINE_HANDLER(my_scale, Scale,
//                              .Attr<float>("factor")
//                                  .Arg<ffi::AnyBuffer>()    // x
//                                  .Ret<ffi::AnyBuffer>());  // y
//
// The function gets a CpuContext or a Cuda, and then what the binding decodes:
// https://docs.jax.dev/en/latest/ffi.html. It returns a HandlerResult, an
// ffi::Error or an ffi::Future; an exception is an error. Every error's message
// begins with "<name>: ".
#define XLA_FFI_OPS_DEFINE_HANDLER(name, impl, ...)                      \
  XLA_FFI_OPS_DEFINE_SYMBOL_(name##_cpu, #name, impl,                    \
                             ::xla_ffi_ops::CpuContext, {}, __VA_ARGS__) \
  XLA_FFI_OPS_DEFINE_CUDA_SYMBOL_(name##_cuda, #name, impl, __VA_ARGS__) \
  static_assert(true, "a semicolon follows")

#ifdef XLA_FFI_OPS_CUDA
#define XLA_FFI_OPS_DEFINE_CUDA_SYMBOL_(symbol, op, impl, ...)           \
  XLA_FFI_OPS_DEFINE_SYMBOL_(symbol, op, impl, ::xla_ffi_ops::Cuda,      \
                             {::xla::ffi::Traits::kCmdBufferCompatible}, \
                             __VA_ARGS__)
#else
#define XLA_FFI_OPS_DEFINE_CUDA_SYMBOL_(...)
#endif

#define XLA_FFI_OPS_DEFINE_SYMBOL_(symbol, op, impl, Device, traits, ...)     \
  extern "C" XLA_FFI_Error* symbol(XLA_FFI_CallFrame* frame) {                \
    if constexpr (std::is_same_v<Device, ::xla_ffi_ops::CpuContext>) {        \
      ::xla_ffi_ops::internal::AskForHugePages(*frame);                       \
    }                                                                         \
    const auto handler = [](const void*) -> const ::xla::ffi::Ffi& {          \
      static const auto* const made =                                         \
          ::xla::ffi::Ffi::Bind()                                             \
              .Ctx<Device>() __VA_ARGS__                                      \
              .To(                                                            \
                  [](auto&&... args) {                                        \
                    using ::xla_ffi_ops::HandlerResult;                       \
                    return ::xla_ffi_ops::internal::Named(                    \
                        op, ::xla_ffi_ops::internal::Try<HandlerResult>([&] { \
                          return impl(std::forward<decltype(args)>(args)...); \
                        }));                                                  \
                  },                                                          \
                  traits)                                                     \
              .release();                                                     \
      return *made;                                                           \
    };                                                                        \
    return ::xla_ffi_ops::internal::CallHandler(op, ".Ctx" #__VA_ARGS__,      \
                                                handler, nullptr, frame);     \
  }

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

template <>
struct CtxDecoding<xla_ffi_ops::Cuda> {
  using Type = xla_ffi_ops::Cuda;

  static std::optional<Type> Decode(const XLA_FFI_Api* api,
                                    XLA_FFI_ExecutionContext* ctx,
                                    DiagnosticEngine& diagnostic) {
    using Stream = PlatformStream<CUstream_st*>;
    const auto stream = CtxDecoding<Stream>::Decode(api, ctx, diagnostic);
    if (!stream) return std::nullopt;
    return Type{*stream};
  }
};

template <ExecutionStage stage>
struct ResultEncoding<stage, xla_ffi_ops::HandlerResult> {
  static std::variant<XLA_FFI_Error*, XLA_FFI_Future*> Encode(
      const XLA_FFI_Api* api, XLA_FFI_ExecutionContext* ctx,
      xla_ffi_ops::HandlerResult result) {
    const auto encode = [&](Error error) {
      return ResultEncoding<stage, Error>::Encode(api, ctx, std::move(error));
    };
    if (result.error()) return encode(*result.error());
    // All that needs memory is done before XLA is told that work goes on.
    try {
      const Promise promise;
      auto encoded =
          ResultEncoding<stage, Future>::Encode(api, ctx, Future(promise));
      if (std::holds_alternative<XLA_FFI_Future*>(encoded)) {
        xla_ffi_ops::internal::Follow(result.op, result.Release(), promise);
      }
      return encoded;
    } catch (const std::bad_alloc&) {
      using namespace xla_ffi_ops::internal;  // NOLINT
      Future work = result.Release();
      return encode(*Named(result.op, Wait(work)).error());
    }
  }
};

}  // namespace xla::ffi

#endif  // XLA_FFI_OPS_HANDLER_HANDLER_H_
