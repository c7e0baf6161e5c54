// SPDX-License-Identifier: Apache-2.0
// Parallel loops on XLA's intra-op thread pool.
#ifndef XLA_FFI_OPS_THREADS_PARALLEL_H_
#define XLA_FFI_OPS_THREADS_PARALLEL_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "xla/ffi/api/ffi.h"
#include "xla_ffi_ops/threads/handler_result.h"
#include "xla_ffi_ops/threads/parallel_loop.h"
#include "xla_ffi_ops/vec/device.h"

namespace xla_ffi_ops {

namespace internal {

// How many threads a call may use, its own included. Nothing else asks the
// pool.
inline int64_t ThreadsOf(xla::ffi::ThreadPool pool) {
  return std::max<int64_t>(1, pool.num_threads());
}

}  // namespace internal

// The device argument of a handler on the CPU. It must not be used once the
// handler has returned, so not in a loop's body either.
struct CpuContext {
  int64_t threads() const { return internal::ThreadsOf(pool); }
  // Whether threads would be idle if each took whole rows: with fewer than two
  // for each thread, some take twice as many as others.
  bool AreFew(int64_t rows) const { return rows < 2 * threads(); }

  xla::ffi::ThreadPool pool;
};

namespace internal {

template <typename Body, typename Finish>
HandlerResult SplitLoop(xla::ffi::ThreadPool pool, int64_t phases, int64_t n,
                        int64_t grain, bool in_order, Body body,
                        Finish finish) {
  using Loop = LoopOf<Body, Finish>;
  if (n <= 0) return FinishAll(phases, finish);
  grain = std::max<int64_t>(1, grain);
  Split split{n, grain, n / grain + (n % grain != 0), phases};
  // The last range may be too short to wake a thread for.
  const int64_t threads =
      n / grain < 2 ? 1 : std::min(ThreadsOf(pool), split.ranges);
  if (threads <= 1) {
    Loop loop(split, std::move(body), std::move(finish));
    loop.Run();
    return loop.error();
  }
  if (!in_order) split.shares = threads;
  return ShareLoop(
      pool, threads,
      std::make_shared<Loop>(split, std::move(body), std::move(finish)));
}

}  // namespace internal

// ParallelFor (below) in several phases over the same ranges: calls
// body(phase, begin, end) for all of them, then finish(phase), and goes on with
// the next phase. What fails ends all of it.
//
// A thread that reaches the next phase waits until other threads have finished
// the ranges they are working on. That takes no longer than one range. It never
// waits for a thread of the pool to start: that could deadlock.
template <typename Body, typename Finish = internal::Nothing>
HandlerResult ParallelPhases(xla::ffi::ThreadPool pool, int64_t phases,
                             int64_t n, int64_t grain, Body body,
                             Finish finish = {}) {
  return internal::SplitLoop(pool, phases, n, grain, /*in_order=*/false,
                             std::move(body), std::move(finish));
}

// Calls body(begin, end) for the ranges of `grain` items, of which the last may
// be shorter, that make up [0, n); and then finish(), once. The ranges depend
// on n and grain alone. Each thread has a share of them, which it takes in
// order; then it takes what others have left. So two threads seldom write to
// the same huge page first: both would clear it.
//
// The calling thread works too. When no range is left, it waits briefly for
// threads that still work on one. If they take longer, it returns a Future. (A
// blocking fork-join deadlocks when all threads of the pool wait:
// openxla/xla#46345.)
// Fewer than two whole ranges, or one thread, need no memory and no Future.
//
// Both functions return void or an Error; an exception is an Internal error.
// The call's error is that of the lowest range that fails. Ranges above it may
// be left out then, and finish() is.
//
// Several threads call `body` at once, so it is const. It and `finish` are
// moved to where they live until the work is done, and destroyed just before
// the Future is resolved: they capture by value, and own what they work with.
template <typename Body, typename Finish = internal::Nothing>
HandlerResult ParallelFor(xla::ffi::ThreadPool pool, int64_t n, int64_t grain,
                          Body body, Finish finish = {}) {
  return ParallelPhases(pool, 1, n, grain, std::move(body), std::move(finish));
}

// ParallelFor, but all ranges begin in order. So a range may wait for results
// of the ranges below. No range may fail then: others may be waiting for it.
template <typename Body>
HandlerResult ParallelInOrder(xla::ffi::ThreadPool pool, int64_t n,
                              int64_t grain, Body body) {
  return internal::SplitLoop(pool, 1, n, grain, /*in_order=*/true,
                             std::move(body), internal::Nothing());
}

// The grain that keeps work below about 512 KiB of memory traffic on one
// thread. To move 256 KiB within the cache takes about as long as to wake
// another thread. Pass the number of items if you know it: where threads share
// them, a range is then at most an eighth of the items, so that a thread that
// wakes late still finds some.
inline int64_t Grain(int64_t bytes_per_item, int64_t items = 0) {
  constexpr int64_t kBytes = 256 * 1024;
  const int64_t grain =
      std::max<int64_t>(1, kBytes / std::max<int64_t>(1, bytes_per_item));
  return items / grain < 2 ? grain : std::clamp<int64_t>(items / 8, 1, grain);
}

// ParallelFor for a body that does up to `at_once` items in the time of one. A
// range is a multiple of `at_once`, or of a thread's share if that is smaller.
template <typename Body>
HandlerResult ParallelGroups(xla::ffi::ThreadPool pool, int64_t n,
                             int64_t at_once, int64_t bytes_per_item,
                             Body body) {
  const int64_t threads = internal::ThreadsOf(pool);
  const int64_t share = (n + threads - 1) / threads;
  const int64_t group = std::max<int64_t>(1, std::min(share, at_once));
  const int64_t groups = (Grain(bytes_per_item) + group - 1) / group;
  return ParallelFor(pool, n, groups * group, std::move(body));
}

// Calls body(Cpu, begin, end) for ranges that make up [0, rows), as ParallelFor
// does. A row moves about `bytes_per_row` bytes of memory.
template <typename Body>
HandlerResult ForRows(const CpuContext& device, int64_t rows,
                      int64_t bytes_per_row, Body body) {
  return ParallelFor(device.pool, rows, Grain(bytes_per_row, rows),
                     [body = std::move(body)](int64_t begin, int64_t end) {
                       return body(Cpu(), begin, end);
                     });
}

// On CUDA, calls body(Cuda, 0, rows) if there are rows; it only enqueues work.
template <typename Body>
HandlerResult ForRows(Cuda device, int64_t rows, int64_t, Body body) {
  if (rows <= 0) return xla::ffi::Error::Success();
  return internal::Try<xla::ffi::Error>(
      [&] { return body(device, int64_t{0}, rows); });
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_THREADS_PARALLEL_H_
