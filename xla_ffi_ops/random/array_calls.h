// SPDX-License-Identifier: Apache-2.0
// Draws of whole arrays on threads.
#ifndef XLA_FFI_OPS_RANDOM_ARRAY_CALLS_H_
#define XLA_FFI_OPS_RANDOM_ARRAY_CALLS_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "xla_ffi_ops/random/array_kernel.h"
#include "xla_ffi_ops/threads/parallel.h"

namespace xla_ffi_ops::random {

namespace internal {

// What the threads of a call share: rows of n elements, in stretches.
class ArrayCall {
 public:
  ArrayCall(std::shared_ptr<const ArrayKernel> kernel, int64_t rows, int64_t n)
      : kernel_(std::move(kernel)),
        n_(n),
        per_row_((n - 1) / kElements + 1),
        rows_(rows),
        rounds_(rows * per_row_) {}

  int64_t stretches() const { return rounds_.size(); }
  int64_t longest() const { return std::min(n_, kElements); }

  // The phases: to see which rows reject; to draw; to draw again what rows had
  // fewer rounds for than they have now.
  static constexpr int64_t kPhases = 3;
  void Run(int64_t phase, int64_t index) {
    const int64_t begin = index % per_row_ * kElements;
    const Stretch stretch{index / per_row_, begin,
                          std::min(n_, begin + kElements)};
    Row& row = rows_[stretch.row];
    int& rounds = rounds_[index];
    if (phase == 0) {
      if (!row.rejects && kernel_->Rejects(stretch)) row.rejects = true;
    } else if (phase == 1) {
      int raised = rounds = row.rounds;
      kernel_->Draw(stretch, row.rejects, &raised);
      Raise(&row.rounds, raised);
    } else if (rounds < row.rounds) {
      kernel_->Redraw(stretch, rounds, row.rounds);
    }
  }

 private:
  // That a thread draws before others see its rounds.
  static constexpr int64_t kElements = 512;

  struct Row {
    std::atomic<bool> rejects{false};
    std::atomic<int> rounds{1};
  };

  static void Raise(std::atomic<int>* most, int rounds) {
    int known = *most;
    while (known < rounds && !most->compare_exchange_weak(known, rounds)) {
    }
  }

  const std::shared_ptr<const ArrayKernel> kernel_;
  const int64_t n_, per_row_;
  std::vector<Row> rows_;
  std::vector<int> rounds_;  // that all of a stretch was drawn with
};

}  // namespace internal

// A draw takes as long as to move `bytes_per_draw` bytes of memory.
inline HandlerResult DrawArrays(const CpuContext& device,
                                std::shared_ptr<const ArrayKernel> kernel,
                                int64_t rows, int64_t n,
                                int64_t bytes_per_draw) {
  using internal::ArrayCall;
  if (rows == 0 || n == 0) return xla::ffi::Error::Success();
  if (n == 1) {
    return ParallelFor(device.pool, rows, Grain(bytes_per_draw),
                       [kernel](int64_t begin, int64_t end) {
                         kernel->DrawSingles(begin, end);
                       });
  }
  const auto call = std::make_shared<ArrayCall>(std::move(kernel), rows, n);
  return ParallelPhases(device.pool, ArrayCall::kPhases, call->stretches(),
                        Grain(call->longest() * bytes_per_draw),
                        [call](int64_t phase, int64_t begin, int64_t end) {
                          for (int64_t i = begin; i < end; ++i) {
                            call->Run(phase, i);
                          }
                        });
}

}  // namespace xla_ffi_ops::random

#endif  // XLA_FFI_OPS_RANDOM_ARRAY_CALLS_H_
