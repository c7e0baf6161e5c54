// SPDX-License-Identifier: Apache-2.0
// The ScanKernel of an operation and a dtype.
#ifndef XLA_FFI_OPS_SCANS_TYPED_SCAN_H_
#define XLA_FFI_OPS_SCANS_TYPED_SCAN_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "xla_ffi_ops/scans/column_totals.h"
#include "xla_ffi_ops/scans/scan_kernel.h"
#include "xla_ffi_ops/scans/scan_row.h"
#include "xla_ffi_ops/vec/float16.h"
#include "xla_ffi_ops/vec/types.h"

namespace xla_ffi_ops {

namespace internal {

template <typename Op, typename Elements>
class TypedScan final : public ScanKernel {
  using T = typename Elements::Stored;
  using E = typename Elements::Element;
  using W = typename Op::template Wide<E>;
  using S = typename Op::template Start<T>;
  static constexpr W kIdentity = Op::template Identity<W>();
  static constexpr bool kConverted = Elements::kConverts;
  // Whether VectorScan itself reads and writes numbers of 16 bits, several
  // vectors at once.
  static constexpr bool kReadsHalves = [] {
    if constexpr (kIs16BitFloat<T>)
      return VectorScan<Op, T, false, 4>::kRows > 1;
    return false;
  }();
  // Chosen with 4096 rows: longer ones are scanned sooner than transposed.
  static constexpr int kFew = Op::kInBlocks ? 16 : 8;

 public:
  TypedScan(int64_t n, bool reverse, const void* starts)
      : ScanKernel(n, reverse, starts, sizeof(T), /*work=*/2 * sizeof(E), kFew,
                   Op::kInBlocks) {}

  void Rows(const void* from, void* to, int64_t first,
            int64_t rows) const override {
    for (int64_t i = 0; i < rows; ++i) {
      // Backwards also from row to row: processors fetch what lies ahead.
      const int64_t index = reverse ? rows - 1 - i : i, row = first + index;
      const T* const x = static_cast<const T*>(from) + index * n;
      T* const y = static_cast<T*>(to) + index * n;
      const bool is_short = !in_blocks || n <= kScanBlock;
      if (is_short && starts == nullptr) {
        Scan(x, y, n, kIdentity);  // compiled without it
        continue;
      }
      W base = StartOf(row);
      if (is_short) {
        Scan(x, y, n, base);
        continue;
      }
      for (int64_t b = 0; b * kScanBlock < n; ++b) {
        const ScanBlock block(n, reverse, b);
        W total = Scan(x + block.begin, y + block.begin, block.count, base);
        Op::Combine(base, &total);
        base = total;
      }
    }
  }

  void Columns(const void* from, void* to, int64_t first, int64_t stride,
               int64_t width) const override {
    constexpr int64_t kMost = 1024;  // states fit the fastest cache
    // At once: states are rarely read and written. What is converted also has
    // to fit.
    constexpr int kSteps = 4;
    const T* x = static_cast<const T*>(from);
    T* y = static_cast<T*>(to);
    const int64_t step = reverse ? -stride : stride;
    if (reverse) x += (n - 1) * stride, y += (n - 1) * stride;
    for (; width > 0; width -= kMost, first += kMost, x += kMost, y += kMost) {
      const int64_t count = std::min(width, kMost);
      W states[kMost];
      E space[kConverted ? kMost : 1];
      const bool fits = !kConverted || kSteps * count <= kMost;
      for (int64_t j = 0; j < count; ++j) states[j] = StartOf(first + j);
      const auto scan = [&](auto steps, int64_t i) {
        const T* const own = x + i * step;
        T* const out = y + i * step;
        for (int64_t s = 0; s < steps; ++s) {
          FetchStep(own + (steps - 1 + s) * step, out + (steps - 1 + s) * step,
                    stride, count);
        }
        if constexpr (kConverted) {
          for (int64_t s = 0; s < steps; ++s) {
            Elements::To(own + s * step, space + s * count, count);
          }
          ScanSteps<Op, steps, E>(space, space, count, states, count);
          for (int64_t s = 0; s < steps; ++s) {
            Elements::From(space + s * count, out + s * step, count);
          }
        } else {
          ScanSteps<Op, steps, E>(own, out, step, states, count);
        }
      };
      int64_t i = 0;
      for (; fits && i + kSteps <= n; i += kSteps) {
        scan(std::integral_constant<int, kSteps>(), i);
      }
      for (; i < n; ++i) scan(std::integral_constant<int, 1>(), i);
    }
  }

  void ColumnTotals(const void* from, void* totals, int64_t first,
                    int64_t stride, int64_t width) const override {
    if constexpr (Op::kHasTotals) {
      const T* x = static_cast<const T*>(from);
      for (; width > 0; width -= kTotals, first += kTotals, x += kTotals) {
        const int64_t count = std::min(width, kTotals);
        W states[kTotals];
        std::fill_n(states, count, kIdentity);
        ForSteps<Elements>(x, n, stride, count,
                           [&](auto steps, const E* elements, int64_t apart) {
                             ScanSteps<Op, steps>(elements, nullptr, apart,
                                                  states, count);
                           });
        for (int64_t j = 0; j < count; ++j) {
          StoreTotal(ScanState::Of(states[j]), totals, first + j);
        }
      }
    }
  }

  ScanState Start(int64_t row) const override {
    return ScanState::Of(StartOf(row));
  }
  ScanState Total(const void* x, int64_t count) const override {
    return ScanState::Of(
        Scan(static_cast<const T*>(x), nullptr, count, kIdentity));
  }
  ScanState Join(ScanState base, ScanState total) const override {
    W joined = total.Value<W>();
    Op::Combine(base.Value<W>(), &joined);
    return ScanState::Of(joined);
  }
  void StoreTotal(ScanState total, void* totals, int64_t index) const override {
    S* const to = static_cast<S*>(totals) + index;
    const W value = total.Value<W>();
    if constexpr (std::is_same_v<S, T>) {
      const E element = static_cast<E>(value);
      Elements::From(&element, to, 1);
    } else {
      *to = value;
    }
  }
  void Block(const void* x, void* y, int64_t count,
             ScanState base) const override {
    Scan(static_cast<const T*>(x), static_cast<T*>(y), count, base.Value<W>());
  }

 private:
  W StartOf(int64_t index) const {
    if (starts == nullptr) return kIdentity;
    const S start = static_cast<const S*>(starts)[index];
    if constexpr (std::is_same_v<S, T>) {
      E element;
      Elements::To(&start, &element, 1);
      return element;
    } else {
      return start;
    }
  }

  // Scans n elements, and writes them to y unless it is null. Returns their
  // total, without `base` if there are blocks.
  W Scan(const T* x, T* y, int64_t n, W base) const {
    if constexpr (!kConverted || kReadsHalves) {
      return ScanRow<Op, T>(x, y, n, reverse, base,
                            Op::kInBlocks ? kIdentity : base);
    } else {
      constexpr int64_t kPiece = 1024;
      E piece[kPiece];
      W carry = Op::kInBlocks ? kIdentity : base;
      for (int64_t done = 0; done < n; done += kPiece) {
        const int64_t count = std::min(kPiece, n - done);
        const int64_t at = reverse ? n - done - count : done;
        Elements::To(x + at, piece, count);
        carry = ScanRow<Op, E>(piece, y == nullptr ? nullptr : piece, count,
                               reverse, base, carry);
        if (y != nullptr) Elements::From(piece, y + at, count);
      }
      return carry;
    }
  }
};

// The ScanKernel of an operation for elements of T.
template <typename Op, typename T>
struct ScanOf {
  using type = TypedScan<Op, typename Op::template Elements<T>>;
};

}  // namespace internal

template <typename Op, typename T>
std::unique_ptr<ScanKernel> MakeScan(int64_t n, bool reverse,
                                     const void* starts) {
  return std::make_unique<typename internal::ScanOf<Op, T>::type>(n, reverse,
                                                                  starts);
}

// All kernels of an operation: `template struct ScanKernels<Op>;` in the op's
// .cc compiles them.
template <typename Op>
struct ScanKernels {
  // What is named is compiled.
  static void NameAll(void (*name)(const void*)) {
    ForEachType(typename Op::All(), [=](auto tag) {
      name(reinterpret_cast<const void*>(MakeScan<Op, TypeOf<decltype(tag)>>));
    });
  }
};

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_SCANS_TYPED_SCAN_H_
