// SPDX-License-Identifier: Apache-2.0
// Kernels that sort or partition a row: at once, or in steps that threads
// share.
#ifndef XLA_FFI_OPS_SORTING_KERNELS_SORT_KERNELS_H_
#define XLA_FFI_OPS_SORTING_KERNELS_SORT_KERNELS_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "xla_ffi_ops/vec/key_format.h"

namespace xla_ffi_ops {

// A long row, in chunks. Its elements are split by their keys into buckets, and
// each bucket is sorted. Threads share the chunks or buckets of a step; a step
// begins when the one before it is done. The result does not depend on the
// number of chunks.
class LongRow {
 public:
  virtual ~LongRow() = default;

  virtual void Scan(int64_t chunk) = 0;
  virtual void AfterScan() = 0;
  virtual void Count(int64_t chunk) = 0;
  virtual void AfterCount() = 0;
  virtual void Scatter(int64_t chunk) = 0;
  virtual int64_t buckets() const = 0;  // after AfterCount
  virtual void Finish(int64_t bucket) = 0;
  // Elements that are equal but differ in their bits may be written then.
  virtual void AfterFinish() {}
  virtual void Repair(int64_t /*chunk*/) {}
};

// Takes all steps of a row in this thread.
void TakeSteps(LongRow* row, int64_t chunks);

// A chunk has fewer elements than 32 bits can count.
inline constexpr int64_t kLongestChunk = int64_t{1} << 31;

// Sorts rows of n elements each, which follow one another.
class RowKernel {
 public:
  virtual ~RowKernel() = default;

  virtual void Sort(const void* x, void* y, int64_t rows) const = 0;
  virtual std::unique_ptr<LongRow> Long(const void* x, void* y,
                                        int64_t chunks) const = 0;

  int64_t n;
  size_t x_bytes;  // of an element
  size_t y_bytes;
};

// y is x, sorted. A descending row is the reverse of the ascending one: also
// where elements are equal and have different bits.
std::unique_ptr<RowKernel> SortKernel(const AnyFormat& format, int64_t n,
                                      bool descending);

enum class Order {
  kAscending,
  kDescending,  // where equal elements keep their order
  kReversed,    // kAscending, written from the last to the first
};

// y has the indices of the elements of x, in a stable order: each an int32_t,
// so that n may be 2^31.
std::unique_ptr<RowKernel> ArgsortKernel(const AnyFormat& format, int64_t n,
                                         Order order);

// y has the elements of x, or their indices if `gives_indices`: first those
// that are less than the one at `kth` of the sorted row, then those that are
// equal to it, then those that are greater. Each keep their order.
std::unique_ptr<RowKernel> PartitionKernel(const AnyFormat& format, int64_t n,
                                           int64_t kth, bool gives_indices);

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_SORTING_KERNELS_SORT_KERNELS_H_
