// SPDX-License-Identifier: Apache-2.0
// A stand-in for XLA's runtime that does on demand what the real one does by
// chance, and a CHECK for tests in C++.
#ifndef XLA_FFI_OPS_TESTS_KIT_FAKE_XLA_H_
#define XLA_FFI_OPS_TESTS_KIT_FAKE_XLA_H_

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "xla/ffi/api/ffi.h"

#define CHECK(condition)                                                    \
  do {                                                                      \
    if (!(condition)) {                                                     \
      std::fprintf(stderr, "%s:%d: CHECK(%s) failed\n", __FILE__, __LINE__, \
                   #condition);                                             \
      std::_Exit(1);                                                        \
    }                                                                       \
  } while (false)

// XLA declares these types and keeps their contents to itself.
struct XLA_FFI_Error {
  XLA_FFI_Error_Code code;
  std::string message;
};

struct XLA_FFI_Future {
  bool resolved = false;
  std::unique_ptr<XLA_FFI_Error> error;
};

namespace xla_ffi_ops {

class FakeXla;

// While it lives, the thread is in the runtime.
struct InRuntime {
  static inline thread_local bool inside = false;

  InRuntime() { inside = true; }
  ~InRuntime() { inside = was_; }

 private:
  const bool was_ = inside;
};

}  // namespace xla_ffi_ops

#if XLA_FFI_API_MINOR >= 5  // jaxlib 0.12
struct XLA_FFI_InvokeContext {
#else
struct XLA_FFI_ExecutionContext {
#endif
  xla_ffi_ops::FakeXla* xla;
};

namespace xla_ffi_ops {

class FakeXla {
 public:
  using Task = std::function<void()>;

  explicit FakeXla(int64_t num_threads) : num_threads_(num_threads) {
    api_.struct_size = XLA_FFI_Api_STRUCT_SIZE;
    api_.XLA_FFI_Error_Create = [](XLA_FFI_Error_Create_Args* args) {
      const InRuntime in_runtime;
      return new XLA_FFI_Error{args->errc, args->message};
    };
#if XLA_FFI_API_MINOR >= 5
    api_.XLA_FFI_Error_GetDetails = [](XLA_FFI_Error_GetDetails_Args* args) {
      args->errc = args->error->code;
#else
    api_.XLA_FFI_Error_GetMessage = [](XLA_FFI_Error_GetMessage_Args* args) {
#endif
      args->message = args->error->message.c_str();
    };
    api_.XLA_FFI_Error_Destroy = [](XLA_FFI_Error_Destroy_Args* args) {
      delete args->error;
    };
    api_.XLA_FFI_Future_Create = [](XLA_FFI_Future_Create_Args* args) {
      const InRuntime in_runtime;
      args->future = new XLA_FFI_Future;
      return static_cast<XLA_FFI_Error*>(nullptr);
    };
    api_.XLA_FFI_Future_SetAvailable =
        [](XLA_FFI_Future_SetAvailable_Args* args) {
          args->future->resolved = true;
          return static_cast<XLA_FFI_Error*>(nullptr);
        };
    api_.XLA_FFI_Future_SetError = [](XLA_FFI_Future_SetError_Args* args) {
      args->future->error.reset(args->error);
      args->future->resolved = true;
      return static_cast<XLA_FFI_Error*>(nullptr);
    };
    api_.XLA_FFI_ThreadPool_NumThreads =
        [](XLA_FFI_ThreadPool_NumThreads_Args* args) {
          *args->num_threads = args->ctx->xla->num_threads_;
          return static_cast<XLA_FFI_Error*>(nullptr);
        };
    api_.XLA_FFI_ThreadPool_Schedule =
        [](XLA_FFI_ThreadPool_Schedule_Args* args) {
          const InRuntime in_runtime;
          ++args->ctx->xla->scheduled;
          args->ctx->xla->schedule(
              [task = args->task, data = args->data] { task(data); });
          return static_cast<XLA_FFI_Error*>(nullptr);
        };
    api_.XLA_FFI_Stream_Get = [](XLA_FFI_Stream_Get_Args* args) {
      args->stream = args->ctx->xla->stream;
      if (args->stream != nullptr) return static_cast<XLA_FFI_Error*>(nullptr);
      return new XLA_FFI_Error{XLA_FFI_Error_Code_UNIMPLEMENTED, "no stream"};
    };
  }

  FakeXla(const FakeXla&) = delete;

  xla::ffi::ThreadPool pool() {
    return *xla::ffi::CtxDecoding<xla::ffi::ThreadPool>::Decode(
        &api_, &context_, diagnostic_);
  }

  // Runs the tasks that the default `schedule` has kept.
  void RunTasks() {
    for (Task& task : std::exchange(tasks_, {})) task();
  }

  // Calls a handler without operands, results and attributes. Sets `future` if
  // that is how the handler answers.
  std::unique_ptr<XLA_FFI_Error> Call(XLA_FFI_Handler* handler) {
    XLA_FFI_CallFrame frame{};
    frame.struct_size = XLA_FFI_CallFrame_STRUCT_SIZE;
    frame.api = &api_;
    frame.ctx = &context_;
    frame.stage = XLA_FFI_ExecutionStage_EXECUTE;
    std::unique_ptr<XLA_FFI_Error> error(handler(&frame));
    future.reset(frame.future);
    return error;
  }

  // What the pool does with a task.
  std::function<void(Task)> schedule = [this](Task task) {
    tasks_.push_back(std::move(task));
  };
  std::atomic<int64_t> scheduled{0};
  void* stream = nullptr;
  std::unique_ptr<XLA_FFI_Future> future;

 private:
  const int64_t num_threads_;
  XLA_FFI_Api api_{};
  XLA_FFI_ExecutionContext context_{this};
  xla::ffi::DiagnosticEngine diagnostic_;
  std::vector<Task> tasks_;
};

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_TESTS_KIT_FAKE_XLA_H_
