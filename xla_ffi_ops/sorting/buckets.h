// SPDX-License-Identifier: Apache-2.0
// How the elements of a long row are split into buckets by their keys.
#ifndef XLA_FFI_OPS_SORTING_BUCKETS_H_
#define XLA_FFI_OPS_SORTING_BUCKETS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

namespace xla_ffi_ops::internal {

inline int BitWidth(uint64_t value) {
  return value == 0 ? 0 : 64 - __builtin_clzll(value);
}

// The elements [begin, end) of a row are a chunk.
struct Chunks {
  int64_t n;
  int64_t count;

  int64_t size() const { return n / count + (n % count != 0); }
  int64_t begin(int64_t chunk) const { return std::min(n, chunk * size()); }
  int64_t length(int64_t chunk) const {
    return begin(chunk + 1) - begin(chunk);
  }
};

// Keys are counted in cells, of 2^shift keys each, and neighbouring cells make
// a bucket, so that buckets are about as large even if keys are far from
// evenly spread.
class Buckets {
 public:
  // For elements in [0, range], less the least key, in so many chunks. Their
  // cells are not more than 2^cell_bits.
  void Resize(uint64_t range, int cell_bits, int64_t chunks) {
    shift_ = std::max(0, BitWidth(range) - cell_bits);
    cells_ = static_cast<int64_t>(range >> shift_) + 1;
    chunks_ = chunks;
    counts_.assign(chunks * (cells_ + 1), 0);
  }

  int shift() const { return shift_; }
  int64_t cells() const { return cells_; }

  // How many elements of a chunk are in each cell; one more is for those that
  // are in none.
  uint32_t* counts(int64_t chunk) {
    return counts_.data() + chunk * (cells_ + 1);
  }

  // Makes buckets of about `size` elements, one at least, out of the counts.
  void Split(int64_t size);

  int64_t count() const { return static_cast<int64_t>(begins_.size()) - 1; }
  int64_t begin(int64_t bucket) const { return begins_[bucket]; }
  int64_t end(int64_t bucket) const { return begins_[bucket + 1]; }
  int64_t first_cell(int64_t bucket) const { return first_cells_[bucket]; }
  int64_t total(int64_t cell) const { return totals_[cell]; }

  // The bucket of each cell, and where a chunk writes its first element of each
  // bucket.
  const uint16_t* bucket_of() const { return bucket_of_.data(); }
  int64_t* places(int64_t chunk) { return places_.data() + chunk * count(); }

 private:
  int shift_ = 0;
  int64_t cells_ = 0;
  int64_t chunks_ = 0;
  std::vector<uint32_t> counts_;
  std::vector<uint16_t> bucket_of_;
  std::vector<int64_t> begins_;
  std::vector<int64_t> first_cells_;
  std::vector<int64_t> totals_;
  std::vector<int64_t> places_;
};

inline void Buckets::Split(int64_t size) {
  bucket_of_.resize(cells_);
  totals_.assign(cells_, 0);
  begins_.assign(1, 0);
  first_cells_.assign(1, 0);
  int64_t end = 0;
  for (int64_t cell = 0; cell < cells_; ++cell) {
    int64_t& more = totals_[cell];
    for (int64_t c = 0; c < chunks_; ++c) more += counts(c)[cell];
    if (end > begins_.back() && end + more - begins_.back() > size) {
      begins_.push_back(end);
      first_cells_.push_back(cell);
    }
    end += more;
    bucket_of_[cell] = static_cast<uint16_t>(begins_.size() - 1);
  }
  begins_.push_back(end);
  first_cells_.push_back(cells_);

  places_.assign(chunks_ * count(), 0);
  for (int64_t c = 0; c < chunks_; ++c) {
    for (int64_t cell = 0; cell < cells_; ++cell) {
      places(c)[bucket_of_[cell]] += counts(c)[cell];
    }
  }
  for (int64_t b = 0; b < count(); ++b) {
    int64_t at = begins_[b];
    for (int64_t c = 0; c < chunks_; ++c) {
      const int64_t length = places(c)[b];
      places(c)[b] = at;
      at += length;
    }
  }
}

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SORTING_BUCKETS_H_
