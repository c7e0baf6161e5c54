// SPDX-License-Identifier: Apache-2.0
// Finds the indices that sort a long row, in parts.
#ifndef XLA_FFI_OPS_SORTING_KERNELS_LONG_ARGSORT_H_
#define XLA_FFI_OPS_SORTING_KERNELS_LONG_ARGSORT_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "xla_ffi_ops/sorting/kernels/counted_argsort.h"
#include "xla_ffi_ops/sorting/kernels/sort_kernels.h"
#include "xla_ffi_ops/sorting/keys/chunks.h"
#include "xla_ffi_ops/sorting/keys/key_buffer.h"
#include "xla_ffi_ops/sorting/keys/packed.h"
#include "xla_ffi_ops/sorting/keys/parts.h"

namespace xla_ffi_ops::internal {

template <typename U>
class LongArgsort final : public LongRow {
 public:
  LongArgsort(const Keyed<U>& keys, int32_t* y, int64_t n, bool reversed,
              int64_t chunks)
      : keys_(keys),
        y_(y),
        chunks_{n, chunks},
        reversed_(reversed),
        ranges_(chunks),
        packing_({}, BitWidth(n - 1)),
        parts_(chunks_),
        written_(2 * n),
        sorted_(written_.get() + n) {}

  void Scan(int64_t chunk) override {
    ranges_[chunk] = keys_.Find(chunks_.begin(chunk), chunks_.length(chunk));
  }

  void AfterScan() override {
    Range<U> all;
    for (const Range<U>& range : ranges_) {
      all.least = std::min(all.least, range.least);
      all.most = std::max(all.most, range.most);
    }
    if (CountedArgsort<U>::Pays(all, chunks_.n)) {
      counted_.emplace(keys_, all, chunks_, y_, reversed_);
      return;
    }
    packing_ = Packing<U>(keys_, chunks_.n, all);
    parts_.Choose([this](int64_t i) {
      // Keys that are packed as one must be in one part.
      const int64_t index = packing_.IsShared(keys_[i]) ? 0 : i;
      return packing_.template Pack<int64_t>(keys_[i], index);
    });
  }

  void Count(int64_t chunk) override {
    if (counted_) return counted_->Count(chunk);
    packing_.PackAll(keys_, chunks_.begin(chunk), chunks_.length(chunk),
                     written(chunk));
    parts_.Partition(chunk, written(chunk));
  }

  void AfterCount() override {
    if (counted_) return counted_->Place();
    parts_.Place();
  }

  void Scatter(int64_t chunk) override {
    if (counted_) return counted_->Scatter(chunk);
    parts_.Scatter(chunk, written(chunk), sorted_);
  }

  int64_t buckets() const override {
    return counted_ ? 0 : Parts<int64_t>::kCount;
  }

  void Finish(int64_t part) override {
    const int64_t begin = parts_.begin(part);
    internal::Finish(packing_, keys_, sorted_ + begin, parts_.length(part),
                     reversed_ ? y_ + chunks_.n - 1 - begin : y_ + begin,
                     reversed_);
  }

 private:
  int64_t* written(int64_t chunk) const {
    return written_.get() + chunks_.begin(chunk);
  }

  const Keyed<U> keys_;
  int32_t* const y_;
  const Chunks chunks_;
  const bool reversed_;
  std::vector<Range<U>> ranges_;
  std::optional<CountedArgsort<U>> counted_;  // if it pays
  Packing<U> packing_;
  Parts<int64_t> parts_;
  // One allocation: glibc is more likely to keep it for the next call.
  const KeyBuffer<int64_t> written_;
  int64_t* const sorted_;
};

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SORTING_KERNELS_LONG_ARGSORT_H_
