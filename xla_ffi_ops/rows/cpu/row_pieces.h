// SPDX-License-Identifier: Apache-2.0
// The arrays of a kernel on the CPU: a piece of a row at a time.
#ifndef XLA_FFI_OPS_ROWS_CPU_ROW_PIECES_H_
#define XLA_FFI_OPS_ROWS_CPU_ROW_PIECES_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "xla_ffi_ops/vec/convert_rows.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/float16.h"
#include "xla_ffi_ops/vec/row_elements.h"
#include "xla_ffi_ops/vec/row_map.h"

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

// From how many columns a first pass is estimated (formula.h). The mean of so
// many independent numbers deviates by 0.09 of their standard deviation;
// layer_norm accepts 0.5.
inline constexpr int64_t kSample = 128;

// Memory for a piece. As a vector it would be filled with zeros first.
template <typename T>
std::unique_ptr<T[]> NewPiece(int64_t cols) {
  return std::unique_ptr<T[]>(new T[std::min(cols, kPiece<Accumulator<T>>)]);
}

// A row whose lines are fetched into the cache, ahead of their use.
struct FetchedRow {
  const char* data;
  int64_t stride;  // bytes from an element to the next one

  template <bool kStores>
  XLA_FFI_OPS_HD void Fetch(int64_t j) const {
    __builtin_prefetch(data + j * stride, kStores);
  }
  // Only into a second-level cache.
  XLA_FFI_OPS_HD void FetchEarly(int64_t j) const {
    __builtin_prefetch(data + j * stride, /*rw=*/0, /*locality=*/2);
  }
};

// An operand. If its type is not Acc, it is converted.
template <typename Acc>
class InputRows {
 public:
  InputRows() = default;

  template <typename T>
  explicit InputRows(const Rows<const T>& rows) {
    rows_ = {reinterpret_cast<const char*>(rows.data), rows.cols, rows.map};
    if constexpr (!std::is_same_v<T, Acc>) {
      widen_ = [](const void* from, Acc* to, int64_t n) {
        WidenRow(static_cast<const T*>(from), to, n);
      };
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

// An operand of 16 bits, which is converted in registers.
template <typename T>
class HalfRows {
 public:
  HalfRows() = default;
  explicit HalfRows(const Rows<const T>& rows) : rows_(rows) {}

  XLA_FFI_OPS_HD HalfElements<T> Piece(int64_t row, int64_t j, int64_t) const {
    return {rows_[row] + j};
  }
  XLA_FFI_OPS_HD FetchedRow Fetched(int64_t row) const {
    return {reinterpret_cast<const char*>(rows_[row]), sizeof(T)};
  }

 private:
  Rows<const T> rows_ = {};
};

// A weight of a formula that has no weights, of which nothing is loaded.
template <typename Weights, int i>
struct AbsentRows {
  XLA_FFI_OPS_HD SameElements<float> Piece(int64_t, int64_t, int64_t) const {
    return {Weights::Absent(i)};
  }
};

// How results are stored.
enum class Stores {
  kPlain,
  kFetched,      // after their lines were fetched
  kNonTemporal,  // past the caches
};

// A result. If no one wants it, there is no memory for it: then all its pieces
// are stored in the same place. (An empty one that is wanted may have none.)
template <typename T>
class OutputRows {
 public:
  OutputRows() = default;
  OutputRows(T* data, int64_t cols, Stores stores) : data_(data), cols_(cols) {
    if (data == nullptr && cols > 0) {
      piece_ = NewPiece<T>(cols);
      data_ = piece_.get();
      step_ = 0;
    } else if (stores == Stores::kFetched && cols <= kCachedCols) {
      // A longer row would be out of the cache again.
      fetched_item_ = sizeof(T);
    }
  }

  bool wanted() const { return step_ != 0; }

  // Where elements from j on of a row are stored.
  XLA_FFI_OPS_HD T* Piece(int64_t row, int64_t j) const {
    return data_ + (row * cols_ + j) * step_;
  }
  // If it is not to be fetched, it is its first line again and again: cheaper
  // than a branch.
  XLA_FFI_OPS_HD FetchedRow Fetched(int64_t row) const {
    return {reinterpret_cast<const char*>(Piece(row, 0)), fetched_item_};
  }

 private:
  T* data_ = nullptr;
  int64_t step_ = 1;
  int64_t fetched_item_ = 0;
  int64_t cols_ = 0;
  std::unique_ptr<T[]> piece_;
};

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_ROWS_CPU_ROW_PIECES_H_
