// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/sorting/sort_rows.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "xla_ffi_ops/sorting/transpose.h"

namespace xla_ffi_ops {
namespace {

// About how many bytes of memory traffic take as long as sorting an element.
constexpr int64_t kBytesPerElement = 64;

// A row of fewer elements is sorted sooner by one thread.
constexpr int64_t kLeastShared = 64 * 1024;
constexpr int64_t kLeastChunk = 8 * 1024;

// Rows that threads share.
class SharedRows {
 public:
  SharedRows(std::vector<std::unique_ptr<LongRow>> rows, int64_t chunks)
      : rows_(std::move(rows)), chunks_(chunks) {}

  static constexpr int kPhases = 5;
  int64_t parts() const { return static_cast<int64_t>(rows_.size()) * chunks_; }

  void Run(int64_t phase, int64_t part) {
    LongRow* const row = rows_[part / chunks_].get();
    const int64_t chunk = part % chunks_;
    if (phase == 0) return row->Scan(chunk);
    if (phase == 1) return row->Count(chunk);
    if (phase == 2) return row->Scatter(chunk);
    if (phase == 4) return row->Repair(chunk);
    // A thread takes buckets as long as there are any.
    for (size_t i; (i = next_++) < buckets_.size();) {
      buckets_[i].first->Finish(buckets_[i].second);
    }
  }

  void Finish(int64_t phase) {
    for (const auto& row : rows_) {
      if (phase == 0) row->AfterScan();
      if (phase == 1) row->AfterCount();
      if (phase == 3) row->AfterFinish();
      for (int64_t b = 0; phase == 2 && b < row->buckets(); ++b) {
        buckets_.emplace_back(row.get(), b);
      }
    }
  }

 private:
  const std::vector<std::unique_ptr<LongRow>> rows_;
  const int64_t chunks_;
  std::vector<std::pair<LongRow*, int64_t>> buckets_;
  std::atomic<size_t> next_{0};
};

// Sorts columns: copies those that share cache lines to rows, and back.
HandlerResult SortColumns(const CpuContext& device,
                          std::shared_ptr<const RowKernel> kernel,
                          const char* x, char* y, int64_t rows,
                          int64_t columns) {
  constexpr int64_t kLine = 64;
  const int64_t threads = device.threads();
  const int64_t fit =
      kLine / static_cast<int64_t>(std::max(kernel->x_bytes, kernel->y_bytes));
  const int64_t share = (columns + threads - 1) / threads;
  const int64_t width =
      std::min(columns, rows >= threads ? fit : std::min(fit, share));
  const int64_t blocks = (columns + width - 1) / width;
  return ParallelFor(
      device.pool, rows * blocks, Grain(width * kernel->n * kBytesPerElement),
      [=](int64_t begin, int64_t end) {
        const int64_t n = kernel->n;
        const std::unique_ptr<char[]> from(
            new char[width * n * kernel->x_bytes]);
        const std::unique_ptr<char[]> to(new char[width * n * kernel->y_bytes]);
        for (int64_t i = begin; i < end; ++i) {
          const int64_t column = i % blocks * width;
          const int64_t count = std::min(width, columns - column);
          const int64_t at = i / blocks * n * columns + column;
          TransposeBytes(kernel->x_bytes, x + at * kernel->x_bytes, columns, n,
                         count, from.get(), n);
          kernel->Sort(from.get(), to.get(), count);
          TransposeBytes(kernel->y_bytes, to.get(), n, count, n,
                         y + at * kernel->y_bytes, columns);
        }
      });
}

}  // namespace

HandlerResult SortRows(const CpuContext& device,
                       std::shared_ptr<const RowKernel> kernel, const void* x,
                       void* y, int64_t rows, int64_t columns) {
  const int64_t n = kernel->n;
  if (n == 0 || rows == 0 || columns == 0) return xla::ffi::Error::Success();
  const char* const from = static_cast<const char*>(x);
  char* const to = static_cast<char*>(y);
  if (columns > 1 && n > 1) {
    return SortColumns(device, std::move(kernel), from, to, rows, columns);
  }
  const auto row_of = [=](int64_t row) {
    return std::make_pair(from + row * n * kernel->x_bytes,
                          to + row * n * kernel->y_bytes);
  };
  const int64_t threads = device.threads();
  if (threads > 1 && n >= kLeastShared && device.AreFew(rows)) {
    const int64_t chunks =
        std::clamp<int64_t>(4 * threads / rows, 1, n / kLeastChunk) +
        n / kLongestChunk;
    std::vector<std::unique_ptr<LongRow>> long_rows;
    for (int64_t row = 0; row < rows; ++row) {
      const auto [in, out] = row_of(row);
      long_rows.push_back(kernel->Long(in, out, chunks));
    }
    const auto shared =
        std::make_shared<SharedRows>(std::move(long_rows), chunks);
    return ParallelPhases(
        device.pool, SharedRows::kPhases, shared->parts(), 1,
        [=](int64_t phase, int64_t part, int64_t) { shared->Run(phase, part); },
        [=](int64_t phase) { shared->Finish(phase); });
  }
  return ParallelFor(device.pool, rows * columns, Grain(n * kBytesPerElement),
                     [=](int64_t begin, int64_t end) {
                       const auto [in, out] = row_of(begin);
                       kernel->Sort(in, out, end - begin);
                     });
}

}  // namespace xla_ffi_ops
