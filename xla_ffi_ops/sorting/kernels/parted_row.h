// SPDX-License-Identifier: Apache-2.0
// Sorts a long row of values of 32 or 64 bits, in parts.
#ifndef XLA_FFI_OPS_SORTING_KERNELS_PARTED_ROW_H_
#define XLA_FFI_OPS_SORTING_KERNELS_PARTED_ROW_H_

#include <cstdint>

#include "xla_ffi_ops/sorting/kernels/special_row.h"
#include "xla_ffi_ops/sorting/keys/key_buffer.h"
#include "xla_ffi_ops/sorting/keys/parts.h"
#include "xla_ffi_ops/sorting/keys/row_keys.h"
#include "xla_ffi_ops/vec/sort/sort_keys.h"

namespace xla_ffi_ops::internal {

template <typename U>
class PartedRow final : public SpecialRow<U> {
  using Key = typename RowKeys<U>::Key;

 public:
  PartedRow(const RowKeys<U>& keys, const U* x, U* y, int64_t n, int64_t chunks)
      : SpecialRow<U>(keys, x, y, n, chunks),
        parts_(this->chunks()),
        written_(n) {}

  void Scan(int64_t chunk) override {
    this->stats(chunk) =
        this->keys().Write(this->x(chunk), this->length(chunk), written(chunk));
  }

  void AfterScan() override {
    this->AddStats();
    parts_.Choose([this](int64_t i) { return written_.get()[i]; });
  }

  void Count(int64_t chunk) override {
    this->CountSpecials(chunk);
    parts_.Partition(chunk, written(chunk));
  }

  void AfterCount() override { parts_.Place(); }

  void Scatter(int64_t chunk) override {
    parts_.Scatter(chunk, written(chunk), sorted());
  }

  int64_t buckets() const override { return Parts<Key>::kCount; }

  void Finish(int64_t part) override {
    const int64_t begin = parts_.begin(part);
    const int64_t count = parts_.length(part);
    SortKeys(sorted() + begin, count);
    this->keys().Read(sorted() + begin, count, this->y() + begin);
  }

 private:
  Key* written(int64_t chunk) const {
    return written_.get() + this->chunks().begin(chunk);
  }
  // Keys are sorted in y, where their elements will be.
  Key* sorted() const { return reinterpret_cast<Key*>(this->y()); }

  Parts<Key> parts_;
  const KeyBuffer<Key> written_;
};

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SORTING_KERNELS_PARTED_ROW_H_
