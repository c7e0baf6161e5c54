// SPDX-License-Identifier: Apache-2.0
// A handler that returns before its work is done, by XLA's own API: see
// ParallelFor in xla_ffi_ops/threads/parallel.h for what does this for you.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <exception>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>

#include "xla_ffi_ops/ffi.h"

namespace {

namespace ffi = xla::ffi;

int64_t ThisThread() {
  return static_cast<int64_t>(
      std::hash<std::thread::id>()(std::this_thread::get_id()));
}

// One block of elements, on any thread. It may throw.
void SquareRoots(int64_t begin, int64_t end, const float* x, float* y) {
  for (int64_t i = begin; i < end; ++i) {
    if (x[i] < 0) {
      throw std::invalid_argument("x[" + std::to_string(i) +
                                  "] must be 0 or more");
    }
    y[i] = std::sqrt(x[i]);
  }
}

// The same, as an error: an exception that leaves a task ends the process.
ffi::Error TrySquareRoots(int64_t begin, int64_t end, const float* x,
                          float* y) {
  try {
    SquareRoots(begin, end, x, y);
  } catch (const std::invalid_argument& e) {
    return ffi::Error::InvalidArgument(e.what());
  } catch (const std::exception& e) {
    return ffi::Error::Internal(e.what());
  }
  return ffi::Error::Success();
}

ffi::Future Done(const ffi::Error& error) {
  ffi::Promise promise;
  ffi::Future future(promise);
  if (error.success()) {
    promise.SetAvailable();
  } else {
    promise.SetError(error);
  }
  return future;
}

// threads: where the handler ran, and then where each block did.
ffi::Future Handler(ffi::ThreadPool pool, int64_t block,
                    ffi::BufferR1<ffi::F32> x, ffi::ResultBufferR1<ffi::F32> y,
                    ffi::ResultBufferR1<ffi::S64> threads) {
  const int64_t n = x.dimensions()[0];
  if (block <= 0) {
    return Done(ffi::Error::InvalidArgument("block must be 1 or more, got " +
                                            std::to_string(block)));
  }
  const int64_t blocks = n / block + (n % block != 0);
  if (y->dimensions()[0] != n || threads->dimensions()[0] != blocks + 1) {
    return Done(ffi::Error::InvalidArgument(
        "y and threads must have " + std::to_string(n) + " and " +
        std::to_string(blocks + 1) + " elements, got " +
        std::to_string(y->dimensions()[0]) + " and " +
        std::to_string(threads->dimensions()[0])));
  }
  // Pointers: the buffers' objects are gone when a task runs, their memory is
  // there until the promise is kept.
  const float* const from = x.typed_data();
  float* const to = y->typed_data();
  int64_t* const thread = threads->typed_data();
  *thread = ThisThread();
  const auto run = [=](int64_t i) {
    thread[1 + i] = ThisThread();
    return TrySquareRoots(i * block, std::min(n, (i + 1) * block), from, to);
  };
  // No promise counts down from 0, and one block is no work to share.
  if (blocks <= 1) return Done(blocks == 0 ? ffi::Error::Success() : run(0));
  ffi::CountDownPromise unfinished(blocks);
  ffi::Future future(unfinished);
  // Nobody waits here: on a pool of one thread, that may be this one.
  for (int64_t i = 0; i < blocks; ++i) {
    pool.Schedule(
        [run, unfinished, i]() mutable { unfinished.CountDown(run(i)); });
  }
  return future;
}

ffi::Error Threads(ffi::ThreadPool pool, ffi::ResultBufferR0<ffi::S64> count) {
  *count->typed_data() = pool.num_threads();
  return ffi::Error::Success();
}

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(example_square_roots_cpu, Handler,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Attr<int64_t>("block")
                                  .Arg<ffi::BufferR1<ffi::F32>>()    // x
                                  .Ret<ffi::BufferR1<ffi::F32>>()    // y
                                  .Ret<ffi::BufferR1<ffi::S64>>());  // threads
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    example_pool_size_cpu, Threads,
    ffi::Ffi::Bind().Ctx<ffi::ThreadPool>().Ret<ffi::BufferR0<ffi::S64>>());
