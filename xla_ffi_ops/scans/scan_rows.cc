// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "xla_ffi_ops/scans/scan_along_axis.h"
#include "xla_ffi_ops/scans/strips.h"
#include "xla_ffi_ops/scans/typed_scan.h"

namespace xla_ffi_ops {
namespace {

// A few long rows, whose blocks are shared by threads. A thread computes the
// total of a block, waits for the base of the block, and then scans the block,
// which is still in its cache.
class SharedBlocks {
 public:
  SharedBlocks(std::shared_ptr<const ScanKernel> kernel, const char* x, char* y,
               int64_t rows)
      : kernel_(std::move(kernel)),
        x_(x),
        y_(y),
        blocks_((kernel_->n - 1) / kScanBlock + 1),
        bases_(rows * blocks_) {}

  int64_t count() const { return static_cast<int64_t>(bases_.size()); }

  // Any thread may call it. Calls must begin in the order of the indices.
  void Run(int64_t index) {
    const int64_t row = index / blocks_, b = index % blocks_;
    const int64_t n = kernel_->n, bytes = kernel_->element_bytes;
    const internal::ScanBlock block(n, kernel_->reverse, b);
    const int64_t at = (row * n + block.begin) * bytes;
    const bool is_last = b == blocks_ - 1;
    const ScanState total =
        is_last ? ScanState() : kernel_->Total(x_ + at, block.count);
    const ScanState base =
        b == 0 ? kernel_->Start(row) : WaitFor(&bases_[index]);
    if (!is_last) bases_[index + 1].Set(kernel_->Join(base, total));
    kernel_->Block(x_ + at, y_ + at, block.count, base);
  }

 private:
  // The base of a block, once it is known.
  struct Base {
    void Set(ScanState value) {
      state = value;
      known.store(true, std::memory_order_release);
    }
    ScanState state;
    std::atomic<bool> known{false};
  };

  // It returns: the block before has begun, and waits only for earlier blocks.
  static ScanState WaitFor(const Base* base) {
    while (!base->known.load(std::memory_order_acquire)) {
      std::this_thread::yield();
    }
    return base->state;
  }

  const std::shared_ptr<const ScanKernel> kernel_;
  const char* const x_;
  char* const y_;
  const int64_t blocks_;
  std::vector<Base> bases_;
};

// Scans short rows as columns of a transposed tile: to scan the lanes of a row
// takes longer than to scan the row.
template <typename Bits>
void ScanShortRows(const ScanKernel& kernel, const Bits* x, Bits* y,
                   int64_t first, int64_t rows) {
  constexpr int64_t kElements = 4096;  // a cache of 32 KiB, if of 8 bytes
  const int64_t n = kernel.n;
  Bits tile[kElements];
  const int64_t most = kElements / n;
  for (; rows > 0; rows -= most, first += most) {
    const int64_t count = std::min(rows, most);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < count; ++j) tile[i * count + j] = x[j * n + i];
    }
    kernel.Columns(tile, tile, first, count, count);
    for (int64_t j = 0; j < count; ++j) {
      for (int64_t i = 0; i < n; ++i) y[j * n + i] = tile[i * count + j];
    }
    x += count * n;
    y += count * n;
  }
}

void ScanShortRows(const ScanKernel& kernel, const char* x, char* y,
                   int64_t first, int64_t rows) {
  const auto scan = [&](auto bits) {
    using Bits = decltype(bits);
    ScanShortRows(kernel, reinterpret_cast<const Bits*>(x),
                  reinterpret_cast<Bits*>(y), first, rows);
  };
  switch (kernel.element_bytes) {
    case 1:
      return scan(uint8_t());
    case 2:
      return scan(uint16_t());
    case 4:
      return scan(uint32_t());
    default:
      return scan(uint64_t());
  }
}

}  // namespace

HandlerResult ScanRows(const CpuContext& device,
                       std::shared_ptr<const ScanKernel> kernel, const void* x,
                       void* y, int64_t rows, int64_t columns) {
  const int64_t n = kernel->n, bytes = kernel->element_bytes;
  if (n == 0 || rows == 0 || columns == 0) return xla::ffi::Error::Success();
  const char* const from = static_cast<const char*>(x);
  char* const to = static_cast<char*>(y);
  if (n == 1) columns *= std::exchange(rows, 1);
  if (columns > 1) {
    return internal::ForStrips(
        device, rows, columns, bytes, n * kernel->work,
        [=](int64_t row, int64_t begin, int64_t end) {
          const int64_t at = (row * n * columns + begin) * bytes;
          kernel->Columns(from + at, to + at, row * columns + begin, columns,
                          end - begin);
        });
  }
  if (device.threads() > 1 && kernel->in_blocks && n > 4 * kScanBlock &&
      device.AreFew(rows)) {
    const auto shared =
        std::make_shared<SharedBlocks>(std::move(kernel), from, to, rows);
    return ParallelInOrder(device.pool, shared->count(), 1,
                           [=](int64_t index, int64_t) { shared->Run(index); });
  }
  // Fewer than 8 rows would be a narrow tile. The call's rows are counted, not
  // a thread's: the two ways may differ in the last bits.
  const bool tiled = n <= kernel->few && rows >= 8;
  return ParallelFor(
      device.pool, rows, Grain(n * kernel->work),
      [=](int64_t begin, int64_t end) {
        const int64_t at = begin * n * bytes, count = end - begin;
        if (tiled)
          return ScanShortRows(*kernel, from + at, to + at, begin, count);
        kernel->Rows(from + at, to + at, begin, count);
      });
}

HandlerResult ScanTotals(const CpuContext& device,
                         std::shared_ptr<const ScanKernel> kernel,
                         const void* x, void* totals, int64_t rows,
                         int64_t columns) {
  const int64_t n = kernel->n, bytes = kernel->element_bytes;
  if (rows == 0 || columns == 0) return xla::ffi::Error::Success();
  const char* const from = static_cast<const char*>(x);
  if (columns > 1 && n > 1) {
    return internal::ForStrips(
        device, rows, columns, bytes, n * kernel->work,
        [=](int64_t row, int64_t begin, int64_t end) {
          const int64_t at = (row * n * columns + begin) * bytes;
          kernel->ColumnTotals(from + at, totals, row * columns + begin,
                               columns, end - begin);
        });
  }
  rows *= columns;
  if (n <= kScanBlock) {
    return ParallelFor(device.pool, rows, Grain(n * kernel->work),
                       [=](int64_t begin, int64_t end) {
                         for (int64_t i = begin; i < end; ++i) {
                           kernel->StoreTotal(
                               kernel->Total(from + i * n * bytes, n), totals,
                               i);
                         }
                       });
  }
  const int64_t blocks = (n - 1) / kScanBlock + 1;
  const auto states = std::make_shared<std::vector<ScanState>>(rows * blocks);
  return ParallelFor(
      device.pool, rows * blocks, 1,
      [=](int64_t index, int64_t) {
        const int64_t begin = index % blocks * kScanBlock;
        (*states)[index] =
            kernel->Total(from + (index / blocks * n + begin) * bytes,
                          std::min(kScanBlock, n - begin));
      },
      [=] {
        for (int64_t row = 0; row < rows; ++row) {
          const ScanState* const own = states->data() + row * blocks;
          ScanState total = own[0];
          for (int64_t b = 1; b < blocks; ++b) {
            total = kernel->Join(total, own[b]);
          }
          kernel->StoreTotal(total, totals, row);
        }
      });
}

}  // namespace xla_ffi_ops
