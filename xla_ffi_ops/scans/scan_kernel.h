// SPDX-License-Identifier: Apache-2.0
// The interface of scans of rows and columns of one dtype.
#ifndef XLA_FFI_OPS_SCANS_SCAN_KERNEL_H_
#define XLA_FFI_OPS_SCANS_SCAN_KERNEL_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>

#include "xla_ffi_ops/scans/elements.h"
#include "xla_ffi_ops/vec/device.h"

namespace xla_ffi_ops {

// What a scan has accumulated: the bits of a number, or of two.
struct ScanState {
  template <typename T>
  static ScanState Of(const T& value) {
    ScanState state;
    static_assert(sizeof(value) <= sizeof(state.bits));
    std::memcpy(state.bits, &value, sizeof(value));
    return state;
  }
  template <typename T>
  T Value() const {
    T value;
    std::memcpy(&value, bits, sizeof(value));
    return value;
  }

  uint64_t bits[2] = {};
};

// The elements of a block of a long row: of 8 bytes, a quarter of a
// second-level cache of 512 KiB.
inline constexpr int64_t kScanBlock = 16 * 1024;

// A scan along an axis of n elements. `reverse` scans from the last one. Rows
// or columns each start from an element of `starts`, which may be null.
// Threads may call all functions at once.
class ScanKernel {
 public:
  ScanKernel(int64_t n, bool reverse, const void* starts, int element_bytes,
             int work, int few, bool in_blocks)
      : n(n),
        reverse(reverse),
        starts(starts),
        element_bytes(element_bytes),
        work(work),
        few(few),
        in_blocks(in_blocks) {}
  virtual ~ScanKernel() = default;

  // Scans rows of n elements, which follow one another; x is row `first`.
  virtual void Rows(const void* x, void* y, int64_t first,
                    int64_t rows) const = 0;

  // Scans `width` columns of an array whose rows are `stride` elements apart.
  // x is column `first`.
  virtual void Columns(const void* x, void* y, int64_t first, int64_t stride,
                       int64_t width) const = 0;

  // The totals of columns, likewise, without starts, go to `totals`, from
  // element `first` on. They are of the type of a start.
  virtual void ColumnTotals(const void* x, void* totals, int64_t first,
                            int64_t stride, int64_t width) const = 0;

  // A row of more than kScanBlock elements is scanned in blocks, in Rows too.
  // The `base` of a block is the total of all blocks before it; each result of
  // the block includes it. The first block has the base Start(row), and
  // Join(base, Total(block)) is the base of the next block.
  virtual ScanState Start(int64_t row) const = 0;
  virtual ScanState Total(const void* x, int64_t count) const = 0;
  virtual ScanState Join(ScanState base, ScanState total) const = 0;
  virtual void StoreTotal(ScanState total, void* totals,
                          int64_t index) const = 0;
  virtual void Block(const void* x, void* y, int64_t count,
                     ScanState base) const = 0;

  const int64_t n;
  const bool reverse;
  const void* const starts;
  const int element_bytes;
  const int work;        // bytes that can be moved in the time of one element
  const int few;         // rows of at most so many elements are transposed
  const bool in_blocks;  // whether there are totals and blocks

 protected:
  // Fetches what Columns takes next, unless it is in the core's own cache:
  // processors do not look that far ahead.
  template <typename T>
  XLA_FFI_OPS_HD void FetchStep(const T* x, const T* y, int64_t stride,
                                int64_t width) const {
    constexpr int64_t kCached = 1 << 19;  // bytes: half of a core's cache
    if (n * stride * element_bytes < kCached) return;
    const int64_t next = reverse ? -stride : stride;
    internal::Fetch<false>(x + next, width);
    internal::Fetch<true>(y + next, width);
  }
};

namespace internal {

// Block `index` of a row, counted from where the scan begins.
struct ScanBlock {
  ScanBlock(int64_t n, bool reverse, int64_t index) {
    const int64_t before = index * kScanBlock;
    count = std::min(kScanBlock, n - before);
    begin = reverse ? n - before - count : before;
    is_last = before + count == n;
  }
  int64_t begin, count;
  bool is_last;
};

}  // namespace internal

// The kernel of an operation of scan_ops.h for elements of T. `starts` are of
// the operation's type for that.
template <typename Op, typename T>
std::unique_ptr<ScanKernel> MakeScan(int64_t n, bool reverse,
                                     const void* starts);

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_SCANS_SCAN_KERNEL_H_
