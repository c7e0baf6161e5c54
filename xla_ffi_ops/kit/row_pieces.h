// SPDX-License-Identifier: Apache-2.0
// The arrays of a kernel on the CPU, whatever their types, as float or double:
// a piece of a row at a time.
#ifndef XLA_FFI_OPS_KIT_ROW_PIECES_H_
#define XLA_FFI_OPS_KIT_ROW_PIECES_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "xla_ffi_ops/kit/convert_rows.h"
#include "xla_ffi_ops/kit/device.h"
#include "xla_ffi_ops/kit/float16.h"
#include "xla_ffi_ops/kit/row_elements.h"
#include "xla_ffi_ops/kit/rows.h"

namespace xla_ffi_ops::internal {

// The most columns of a piece: 16 KiB, so that two are in a first-level cache
// of 32 KiB.
template <typename Acc>
inline constexpr int64_t kPiece = 16384 / sizeof(Acc);

// How many pieces a row has.
template <typename Acc>
XLA_FFI_OPS_HD int64_t Pieces(int64_t cols) {
  return cols / kPiece<Acc> + (cols % kPiece<Acc> != 0);
}

// The most columns of a row that stays in the cache between passes, with what
// is stored: as 4 bytes each, a quarter of a second-level cache of 1 MiB.
inline constexpr int64_t kCachedCols = 262144 / 4;

// From how many columns a first pass is estimated (formula.h).
inline constexpr int64_t kSample = 128;

// The most columns that are converted together when they are stored: 2 KiB,
// since a piece and weights are to stay in the first-level cache.
template <typename Acc>
inline constexpr int64_t kStored = kPiece<Acc> / 8;

// Memory for columns. As a vector it would be filled with zeros first.
template <typename Acc>
std::unique_ptr<Acc[]> NewPiece(int64_t cols, int64_t most = kPiece<Acc>) {
  return std::unique_ptr<Acc[]>(new Acc[std::min(cols, most)]);
}

// A row whose lines are fetched into the cache, ahead of their use.
struct FetchedRow {
  const char* data;
  int64_t stride;  // bytes from an element to the next one

  template <bool kStores>
  XLA_FFI_OPS_HD void Fetch(int64_t j) const {
    __builtin_prefetch(data + j * stride, kStores);
  }
};

// An operand. If its type is not Acc, it is converted; and if it is taken
// beside pairs, its pieces are SplitPairs.
template <typename Acc>
class InputRows {
 public:
  static constexpr int kEach = 1;
  InputRows() = default;

  template <typename T>
  explicit InputRows(const Rows<const T>& rows, bool beside_pairs = false) {
    rows_ = {reinterpret_cast<const char*>(rows.data), rows.cols, rows.map};
    if constexpr (!std::is_same_v<T, Acc>) {
      widen_ = [](const void* from, Acc* to, int64_t n) {
        WidenRow(static_cast<const T*>(from), to, n);
      };
    }
    // No rows of Float16 are taken in pairs, and none of double.
    if constexpr (std::is_same_v<Acc, float> && !std::is_same_v<T, Float16>) {
      if (beside_pairs) {
        widen_ = [](const void* from, Acc* to, int64_t n) {
          SplitRow(static_cast<const T*>(from), to, n);
        };
      }
    }
    if (widen_ == nullptr) return;
    if (rows.map.dims == 1 && rows.map.stride[0] == 0 &&
        rows.cols <= kCachedCols) {  // One for all.
      piece_.reset(new Acc[rows.cols]);
      for (int64_t j = 0; j < rows.cols; j += kPiece<Acc>) {
        widen_(rows.data + j, piece_.get() + j,
               std::min(kPiece<Acc>, rows.cols - j));
      }
      rows_.data = reinterpret_cast<const char*>(piece_.get());
      widen_ = nullptr;
      return;
    }
    item_ = sizeof(T);
    piece_ = NewPiece<Acc>(rows.cols);
  }

  // A weight that is absent: all elements are `value`, in one piece for all.
  InputRows(Acc value, int64_t cols) : item_(0) {
    piece_ = NewPiece<Acc>(cols);
    std::fill_n(piece_.get(), std::min(cols, kPiece<Acc>), value);
    rows_.data = reinterpret_cast<const char*>(piece_.get());
  }

  // Elements [j, j + n) of a row, until the next call.
  XLA_FFI_OPS_HD Elements<Acc> Piece(int64_t row, int64_t j, int64_t n) {
    const char* const from = Address(row) + j * item_;
    if (widen_ == nullptr) return {reinterpret_cast<const Acc*>(from)};
    if (held_ != from) {  // Not by an earlier pass.
      widen_(from, piece_.get(), n);
      held_ = from;
    }
    return {piece_.get()};
  }
  XLA_FFI_OPS_HD FetchedRow Fetched(int64_t row) const {
    return {Address(row), item_};
  }

 private:
  XLA_FFI_OPS_HD const char* Address(int64_t row) const {
    return rows_.data + rows_.map(row) * rows_.cols * item_;
  }

  Rows<const char> rows_ = {};  // bytes of what has `cols` elements
  int64_t item_ = sizeof(Acc);
  void (*widen_)(const void* from, Acc* to, int64_t n) = nullptr;
  std::unique_ptr<Acc[]> piece_;  // or the only row
  const char* held_ = nullptr;    // what was converted
};

// An operand of BFloat16, which is taken in pairs.
class PairRows {
 public:
  static constexpr int kEach = 2;
  PairRows() = default;
  explicit PairRows(const Rows<const BFloat16>& rows) : rows_(rows) {}

  XLA_FFI_OPS_HD Pairs Piece(int64_t row, int64_t j, int64_t) const {
    return {rows_[row] + j};
  }
  XLA_FFI_OPS_HD FetchedRow Fetched(int64_t row) const {
    return {reinterpret_cast<const char*>(rows_[row]), sizeof(BFloat16)};
  }

 private:
  Rows<const BFloat16> rows_ = {};
};

// A weight that is taken beside pairs.
class SplitRows {
 public:
  static constexpr int kEach = 2;
  SplitRows() = default;
  template <typename W>
  explicit SplitRows(const Rows<const W>& rows) : rows_(rows, true) {}
  SplitRows(float value, int64_t cols) : rows_(value, cols) {}

  XLA_FFI_OPS_HD SplitPairs<float> Piece(int64_t row, int64_t j, int64_t n) {
    return {rows_.Piece(row, j, n).data, n};
  }

 private:
  InputRows<float> rows_;
};

// A weight of a formula that has no weights, of which nothing is loaded.
template <typename Weights, int i>
struct AbsentRows {
  static constexpr int kEach = 1;
  struct Row {
    template <int>
    XLA_FFI_OPS_HD float At(int64_t) const {
      return Weights::Absent(i);
    }
    XLA_FFI_OPS_HD float One(int64_t) const { return Weights::Absent(i); }
  };

  XLA_FFI_OPS_HD Row Piece(int64_t, int64_t, int64_t) const { return {}; }
};

// A result. If its type is not Acc, it is stored from pieces. If there is no
// memory for it, as no one wants it, pieces are all that is stored.
template <typename Acc>
class OutputRows {
 public:
  OutputRows() = default;

  template <typename T>
  OutputRows(T* data, int64_t cols, bool fetches)
      : data_(reinterpret_cast<char*>(data)), item_(sizeof(T)), cols_(cols) {
    // A longer row would be out of the cache again.
    if (fetches && cols <= kCachedCols) fetched_item_ = item_;
    if (data == nullptr) {
      piece_ = NewPiece<Acc>(cols);  // Pairs are not stored in short blocks.
      data_ = reinterpret_cast<char*>(piece_.get());
      item_ = fetched_item_ = 0;
      narrow_ = [](const Acc*, void*, int64_t) {};
      return;
    }
    if constexpr (!std::is_same_v<T, Acc>) {
      piece_ = NewPiece<Acc>(cols, kStored<Acc>);
      narrow_ = [](const Acc* from, void* to, int64_t n) {
        NarrowRow(from, static_cast<T*>(to), n);
      };
    }
  }

  bool wanted() const { return item_ != 0; }

  // Where up to kStored elements from j on of a row are to be stored; Store()
  // follows.
  XLA_FFI_OPS_HD Acc* Piece(int64_t row, int64_t j) const {
    if (narrow_ != nullptr) return piece_.get();
    return reinterpret_cast<Acc*>(Address(row, j));
  }
  XLA_FFI_OPS_HD StoredPairs InPairs(int64_t row, int64_t j) const {
    return {reinterpret_cast<BFloat16*>(Address(row, j))};
  }
  XLA_FFI_OPS_HD void Store(int64_t row, int64_t j, int64_t n) const {
    if (narrow_ != nullptr) narrow_(piece_.get(), Address(row, j), n);
  }
  // If it is not to be fetched, it is its first line again and again: cheaper
  // than a branch.
  XLA_FFI_OPS_HD FetchedRow Fetched(int64_t row) const {
    return {Address(row, 0), fetched_item_};
  }

 private:
  XLA_FFI_OPS_HD char* Address(int64_t row, int64_t j) const {
    return data_ + (row * cols_ + j) * item_;
  }

  char* data_ = nullptr;
  int64_t item_ = 0;
  int64_t fetched_item_ = 0;
  int64_t cols_ = 0;
  void (*narrow_)(const Acc* from, void* to, int64_t n) = nullptr;
  std::unique_ptr<Acc[]> piece_;
};

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_KIT_ROW_PIECES_H_
