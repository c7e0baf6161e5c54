// SPDX-License-Identifier: Apache-2.0
// Loops on XLA's own threads, for parallel_stress_test.py.
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <thread>

#include "xla_ffi_ops/ffi.h"

namespace xla_ffi_ops {
namespace {

using Ints = ffi::Buffer<ffi::S64, 1>;

// y = x + 1, in ranges of `grain` that take some time each; `workers` tells the
// thread that did each element, and `caller` the one that runs the handler.
HandlerResult Increment(CpuContext device, int64_t grain, int64_t microseconds,
                        Ints x, ffi::Result<Ints> y, ffi::Result<Ints> workers,
                        ffi::Result<Ints> caller) {
  const auto n = static_cast<int64_t>(x.element_count());
  if (!(y->dimensions() == x.dimensions()) ||
      !(workers->dimensions() == x.dimensions()) ||
      caller->element_count() != 1) {
    return ffi::Error::InvalidArgument("wrong sizes");
  }
  caller->typed_data()[0] = gettid();
  return ParallelFor(
      device.pool, n, grain,
      [=, x = x.typed_data(), y = y->typed_data(),
       workers = workers->typed_data()](int64_t begin, int64_t end) {
        std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
        for (int64_t i = begin; i < end; ++i) {
          y[i] = x[i] + 1;
          workers[i] = gettid();
        }
      });
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(kit_test_increment, Increment,
                           .Attr<int64_t>("grain")
                               .Attr<int64_t>("microseconds")
                               .Arg<Ints>()    // x
                               .Ret<Ints>()    // y
                               .Ret<Ints>()    // workers
                               .Ret<Ints>());  // caller

}  // namespace xla_ffi_ops
