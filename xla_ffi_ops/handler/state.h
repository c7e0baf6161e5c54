// SPDX-License-Identifier: Apache-2.0
// Handlers with a state, which XLA makes once for each call in a program.
#ifndef XLA_FFI_OPS_HANDLER_STATE_H_
#define XLA_FFI_OPS_HANDLER_STATE_H_

#include <memory>
#include <utility>

#include "xla/ffi/api/ffi.h"
#include "xla_ffi_ops/threads/parallel_loop.h"

namespace xla_ffi_ops {

// What the function that makes a state returns.
template <typename T>
using StateOr = xla::ffi::ErrorOr<std::unique_ptr<T>>;

namespace internal {

// `error` with the op's name before its message.
xla::ffi::Error NamedError(const char* op, const xla::ffi::Error& error);

template <typename T, typename Fn>
StateOr<T> MakeState(const char* op, Fn&& fn) {
  using xla::ffi::Error;
  std::unique_ptr<T> made;
  Error error = Try<Error>([&] {
    StateOr<T> state = fn();
    if (state.has_error()) return state.error();
    made = std::move(*state);
    return Error();
  });
  if (error.success() && !made) error = Error::Internal("no state was made");
  if (error.success()) return StateOr<T>(std::move(made));
  return xla::ffi::Unexpected(NamedError(op, error));
}

}  // namespace internal
}  // namespace xla_ffi_ops

// Gives the FFI target `name`, beside its XLA_FFI_OPS_DEFINE_HANDLER, a state
// of class T: a plan, a table, a counter. `make` gets the attributes, all of
// them, when a program is compiled, and its result lives as long as the
// program. Runs of one program may share it, also at the same time.
//
//   struct Plan {
//     static inline xla::ffi::TypeId id = {};
//     ...
//   };
//   StateOr<Plan> MakePlan(int64_t length);
//   HandlerResult Transform(CpuContext device, Plan* plan, int64_t length,
//   ...);
//
//   XLA_FFI_OPS_DEFINE_STATE(my_fft_fwd, Plan, MakePlan,
//                            .Attr<int64_t>("length"));
//   XLA_FFI_OPS_DEFINE_HANDLER(my_fft_fwd, Transform,
//                              .Ctx<ffi::State<Plan>>()
//                                  .Attr<int64_t>("length")
//                                  ...);
//
// Two targets have two classes. An xla_ffi_extension lists such a target in
// `stateful_handlers`.
#define XLA_FFI_OPS_DEFINE_STATE(name, T, make, ...)                       \
  extern "C" XLA_FFI_TypeId* name##_state_type_id() { return &T::id; }     \
  extern "C" const XLA_FFI_TypeInfo* name##_state_type_info() {            \
    static const auto info = ::xla::ffi::MakeTypeInfo<T>();                \
    return &info;                                                          \
  }                                                                        \
  XLA_FFI_OPS_DEFINE_STATE_SYMBOL_(name##_instantiate_cpu, #name, T, make, \
                                   __VA_ARGS__)                            \
  XLA_FFI_OPS_DEFINE_CUDA_STATE_SYMBOL_(name##_instantiate_cuda, #name, T, \
                                        make, __VA_ARGS__)                 \
  static_assert(true, "a semicolon follows")

#ifdef XLA_FFI_OPS_CUDA
#define XLA_FFI_OPS_DEFINE_CUDA_STATE_SYMBOL_ XLA_FFI_OPS_DEFINE_STATE_SYMBOL_
#else
#define XLA_FFI_OPS_DEFINE_CUDA_STATE_SYMBOL_(...)
#endif

#define XLA_FFI_OPS_DEFINE_STATE_SYMBOL_(symbol, op, T, make, ...)         \
  extern "C" XLA_FFI_Error* symbol(XLA_FFI_CallFrame* frame) {             \
    const auto handler = [](const void*) -> const ::xla::ffi::Ffi& {       \
      static const auto* const made =                                      \
          ::xla::ffi::Ffi::BindInstantiate() __VA_ARGS__                   \
              .To([](auto&&... args) {                                     \
                return ::xla_ffi_ops::internal::MakeState<T>(op, [&] {     \
                  return make(std::forward<decltype(args)>(args)...);      \
                });                                                        \
              })                                                           \
              .release();                                                  \
      return *made;                                                        \
    };                                                                     \
    return ::xla_ffi_ops::internal::CallHandler(op, #__VA_ARGS__, handler, \
                                                nullptr, frame);           \
  }

#endif  // XLA_FFI_OPS_HANDLER_STATE_H_
