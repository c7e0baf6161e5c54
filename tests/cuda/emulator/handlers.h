// SPDX-License-Identifier: Apache-2.0
// Handlers that run CUDA kernels on the CPU. A file of handlers that is
// included behind this one defines `emulated_<name>_cpu` instead of
// `<name>_cpu`; their functions get a Cuda, and results that are NaN.
#ifndef XLA_FFI_OPS_TESTS_CUDA_EMULATOR_HANDLERS_H_
#define XLA_FFI_OPS_TESTS_CUDA_EMULATOR_HANDLERS_H_

#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>

#include "xla_ffi_ops/ffi.h"

#undef XLA_FFI_OPS_DEFINE_HANDLER
#define XLA_FFI_OPS_DEFINE_HANDLER(name, impl, ...)         \
  XLA_FFI_OPS_DEFINE_SYMBOL_(                               \
      emulated_##name##_cpu, #name, ([](auto&&... args) {   \
        (::emulator::Fill(args), ...);                      \
        return impl(std::forward<decltype(args)>(args)...); \
      }),                                                   \
      ::emulator::Context, {}, __VA_ARGS__)                 \
  static_assert(true, "a semicolon follows")

namespace emulator {

struct Context {};

// Makes results NaN, which had what some other call left there.
template <typename T>
void Fill(const T&) {}
template <typename T>
void Fill(xla::ffi::Result<T> result) {
  if (result->size_bytes() == 0) return;
  std::memset(result->untyped_data(), 0xff, result->size_bytes());
}
template <typename T>
void Fill(std::optional<xla::ffi::Result<T>> result) {
  if (result) Fill(*result);
}
inline void Fill(const xla::ffi::RemainingRets& results) {
  for (size_t i = 0; i < results.size(); ++i) {
    Fill(*results.get<xla::ffi::AnyBuffer>(i));
  }
}

}  // namespace emulator

template <>
struct xla::ffi::CtxDecoding<emulator::Context> {
  using Type = xla_ffi_ops::Cuda;

  static std::optional<Type> Decode(const XLA_FFI_Api*,
                                    XLA_FFI_ExecutionContext*,
                                    DiagnosticEngine&) {
    return Type{nullptr};
  }
};

#endif  // XLA_FFI_OPS_TESTS_CUDA_EMULATOR_HANDLERS_H_
