// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/kit/handler.h"

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace xla_ffi_ops::internal {
namespace {

// Whoever reads metadata without a runtime has no messages.
bool AsksForMetadata(const XLA_FFI_CallFrame& frame) {
  const XLA_FFI_Extension_Base* extension = frame.extension_start;
  return extension != nullptr && extension->type == XLA_FFI_Extension_Metadata;
}

}  // namespace

ffi::Error NamedError(const char* op, const ffi::Error& error) {
  return ffi::Error(*error.errc(), op + (": " + error.message()));
}

HandlerResult Named(const char* op, HandlerResult result) {
  if (const auto* error = std::get_if<ffi::Error>(&result)) {
    if (error->success()) return result;
    return NamedError(op, *error);
  }
  ffi::Promise promise;
  ffi::Future named(promise);
  std::get<ffi::Future>(result).OnReady(
      [op, promise](const std::optional<ffi::Error>& error) {
        Resolve(promise, error ? NamedError(op, *error) : ffi::Error());
      });
  return named;
}

XLA_FFI_Error* Call(const char* op, const ffi::Ffi& handler,
                    XLA_FFI_CallFrame* frame) {
  Acquire();
  XLA_FFI_Error* const error = handler.Call(frame);
  Release();
  if (error == nullptr || AsksForMetadata(*frame)) return error;
  const XLA_FFI_Api* const api = frame->api;
  const std::string message = ffi::internal::GetErrorMessage(api, error);
  const std::string prefix = op + std::string(": ");
  if (message.compare(0, prefix.size(), prefix) == 0) return error;
  ffi::internal::DestroyError(api, error);
  return ffi::internal::CreateError(
      api, ffi::Error::InvalidArgument(prefix + message));
}

}  // namespace xla_ffi_ops::internal
