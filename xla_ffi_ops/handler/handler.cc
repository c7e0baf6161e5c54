// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/handler/handler.h"

#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

#include "xla_ffi_ops/handler/checks.h"
#include "xla_ffi_ops/handler/dtype.h"
#include "xla_ffi_ops/vec/memory.h"

namespace xla_ffi_ops::internal {
namespace {

// Whoever reads metadata without a runtime has no messages.
bool AsksForMetadata(const XLA_FFI_CallFrame& frame) {
  const XLA_FFI_Extension_Base* extension = frame.extension_start;
  return extension != nullptr && extension->type == XLA_FFI_Extension_Metadata;
}

// The name of the attribute that is the `index`-th of what is decoded, from 0;
// nothing if that is none.
std::string AttributeName(const std::string& binding, size_t index) {
  int depth = 0;
  size_t count = 0;
  for (size_t i = 0; i < binding.size(); ++i) {
    if (binding[i] == '(' || binding[i] == '<') ++depth;
    if (binding[i] == ')' || binding[i] == '>') --depth;
    if (depth > 0 || binding[i] != '.' || count++ != index) continue;
    if (binding.compare(i, 5, ".Attr") != 0) return "";
    const size_t begin = binding.find('"', i) + 1;
    return binding.substr(begin, binding.find('"', begin) - begin);
  }
  return "";
}

// XLA's message says "bad operands at: 1, 2" also of attributes.
std::string WithAttributeNames(std::string message, const char* binding) {
  static constexpr char kBad[] = "bad operands at: ";
  size_t at = message.find(kBad);
  if (at == std::string::npos) return message;
  at += sizeof(kBad) - 1;
  std::string names;
  std::istringstream numbers(message.substr(at, message.find(')', at) - at));
  for (std::string number; std::getline(numbers, number, ',');) {
    const std::string name = AttributeName(binding, std::stoul(number));
    if (!name.empty()) names += (names.empty() ? "" : ", ") + name;
  }
  if (!names.empty()) message += "\nattributes that do not fit: " + names;
  return message;
}

}  // namespace

void AskForHugePages(const XLA_FFI_CallFrame& frame) {
  // glibc maps such an array alone: no other gets huge pages after it.
  constexpr int64_t kLarge = int64_t{32} << 20;
  // XLA's headers have not checked the frame yet.
  if (frame.struct_size < XLA_FFI_CallFrame_STRUCT_SIZE ||
      frame.stage != XLA_FFI_ExecutionStage_EXECUTE || AsksForMetadata(frame)) {
    return;
  }
  for (int64_t i = 0; i < frame.rets.size; ++i) {
    if (frame.rets.types[i] != XLA_FFI_RetType_BUFFER) continue;
    const ffi::AnyBuffer result(
        static_cast<XLA_FFI_Buffer*>(frame.rets.rets[i]));
    // Nor are sizes checked yet: their product may be beyond an int64_t.
    int64_t bytes;
    const bool too_large =
        __builtin_mul_overflow(Product(result.dimensions()),
                               BitWidth(result.element_type()) / 8, &bytes);
    if (too_large || bytes < kLarge) continue;
    AskForHugePages(result.untyped_data(), bytes);
  }
}

ffi::Error NamedError(const char* op, const ffi::Error& error) {
  return ffi::Error(*error.errc(), op + (": " + error.message()));
}

HandlerResult Named(const char* op, HandlerResult result) {
  const ffi::Error* error = result.error();
  if (error != nullptr && error->failure()) {
    return Try<ffi::Error>([&] { return NamedError(op, *error); });
  }
  result.op = op;
  return result;
}

void Follow(const char* op, ffi::Future work, const ffi::Promise& promise) {
  WhenDone(work, [op, promise](const std::optional<ffi::Error>& error) {
    Resolve(promise, Try<ffi::Error>([&] {
              return error ? NamedError(op, *error) : ffi::Error();
            }));
  });
}

XLA_FFI_Error* CallHandler(const char* op, const char* binding,
                           const ffi::Ffi& (*handler)(const void* data),
                           const void* data, XLA_FFI_CallFrame* frame) {
  const XLA_FFI_Api* const api = frame->api;
  XLA_FFI_Error* error = nullptr;
  try {
    Acquire();
    error = handler(data).Call(frame);
    Release();
    if (error == nullptr || AsksForMetadata(*frame)) return error;
    const std::string message = ffi::internal::GetErrorMessage(api, error);
    const std::string prefix = op + std::string(": ");
    if (message.compare(0, prefix.size(), prefix) == 0) return error;
    const bool no_memory = message == NoMemory().message();
    const ffi::Error named(no_memory ? ffi::ErrorCode::kInternal
                                     : ffi::ErrorCode::kInvalidArgument,
                           prefix + WithAttributeNames(message, binding));
    ffi::internal::DestroyError(api, std::exchange(error, nullptr));
    return ffi::internal::CreateError(api, named);
  } catch (const std::bad_alloc&) {
    return error ? error : ffi::internal::CreateError(api, NoMemory());
  }
}

}  // namespace xla_ffi_ops::internal
