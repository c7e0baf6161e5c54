// SPDX-License-Identifier: Apache-2.0
// Handlers as the runtime sees them: on both devices, where no GPU is needed to
// see what a kernel would get, and with work that goes on after the call.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "tests/kit/cpp/fake_xla.h"
#include "tests/kit/cpp/handler/cuda_stub.h"
#include "tests/kit/cpp/pools.h"
#include "xla_ffi_ops/ffi.h"

namespace xla_ffi_ops {
namespace {

SlowHelper* slow_helper = nullptr;
ffi::Error result_of_slow;

HandlerResult Slow(CpuContext device) {
  return ParallelFor(device.pool, 2, 1, [](int64_t begin, int64_t) {
    if (begin == 0) return ffi::Error::Success();
    slow_helper->WaitForTheOther();
    return result_of_slow;
  });
}

XLA_FFI_OPS_DEFINE_HANDLER(kit_test_slow, Slow);

void TestCpu() {
  FakeXla xla(4);
  stub_call = {};
  CHECK(xla.Call(kit_test_stub_cpu) == nullptr);
  CHECK(xla.future == nullptr);
  CHECK(stub_call.device == std::string_view("cpu"));
  CHECK(stub_call.begin == 0 && stub_call.end == 1000);
}

void TestCuda() {
  FakeXla xla(4);
  int stream = 0;
  xla.stream = &stream;
  stub_call = {};
  CHECK(xla.Call(kit_test_stub_cuda) == nullptr);
  CHECK(xla.future == nullptr);
  CHECK(stub_call.device == std::string_view("cuda"));
  CHECK(stub_call.stream == reinterpret_cast<CUstream_st*>(&stream));
  CHECK(stub_call.begin == 0 && stub_call.end == 1000);
}

void TestErrors() {
  FakeXla xla(4);
  stub_call = {};
  std::unique_ptr<XLA_FFI_Error> error = xla.Call(kit_test_stub_cuda);
  CHECK(error != nullptr);
  CHECK(error->code == XLA_FFI_Error_Code_INVALID_ARGUMENT);
  CHECK(error->message.rfind("kit_test_stub: ", 0) == 0);
  CHECK(error->message.find("no stream") != std::string::npos);
  CHECK(stub_call.device == nullptr);

  xla.stream = &xla;
  stub_call.throws = true;
  error = xla.Call(kit_test_stub_cuda);
  CHECK(error != nullptr);
  CHECK(error->code == XLA_FFI_Error_Code_INTERNAL);
  CHECK(error->message == "kit_test_stub: thrown");
}

// Returns how the future of kit_test_slow ends.
std::unique_ptr<XLA_FFI_Future> CallSlow(const ffi::Error& result) {
  FakeXla xla(2);
  SlowHelper helper(xla);
  slow_helper = &helper;
  result_of_slow = result;
  CHECK(xla.Call(kit_test_slow_cpu) == nullptr);
  CHECK(xla.future != nullptr);
  CHECK(!xla.future->resolved);
  helper.GoOn();
  CHECK(xla.future->resolved);
  return std::move(xla.future);
}

void TestFuture() {
  CHECK(CallSlow(ffi::Error::Success())->error == nullptr);
  const auto future =
      CallSlow(ffi::Error(ffi::ErrorCode::kNotFound, "gone later"));
  CHECK(future->error != nullptr);
  CHECK(future->error->code == XLA_FFI_Error_Code_NOT_FOUND);
  CHECK(future->error->message == "kit_test_slow: gone later");
}

}  // namespace
}  // namespace xla_ffi_ops

int main() {
  using namespace xla_ffi_ops;  // NOLINT
  TestCpu();
  TestCuda();
  TestErrors();
  TestFuture();
}
