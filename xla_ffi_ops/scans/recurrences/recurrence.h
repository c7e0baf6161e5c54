// SPDX-License-Identifier: Apache-2.0
// A linear recurrence: h[i] = a[i] h[i-1] + b[i], where i counts from where it
// begins. On the CPU, each result is computed from the one before, in this
// order.
#ifndef XLA_FFI_OPS_SCANS_RECURRENCES_RECURRENCE_H_
#define XLA_FFI_OPS_SCANS_RECURRENCES_RECURRENCE_H_

#include <complex>
#include <cstdint>

#include "xla_ffi_ops/scans/element_of.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/row_map.h"

namespace xla_ffi_ops {

// An operand, [rows..., steps, columns...], whose rows and columns may
// broadcast.
template <typename T>
struct RecurrenceOperand {
  const T* data = nullptr;
  int64_t steps = 1;
  int64_t width = 1;  // its own columns
  RowMap rows, columns;

  XLA_FFI_OPS_HD const T* Row(int64_t row) const {
    return data + rows(row) * steps * width;
  }
};

// A call, and its result h, [rows, n, columns].
template <typename T>
struct Recurrence {
  using Type = T;
  using Element = internal::ElementOf<T>;

  // Where the i-th step is.
  int64_t At(int64_t i) const { return reverse ? n - 1 - i : i; }
  T* Row(int64_t row) const { return h + row * n * columns; }
  // What h is before the first step of a row of one column.
  Element Start(int64_t row) const {
    if (wide_h0.data != nullptr) return *wide_h0.Row(row);
    return h0.data == nullptr ? Element(0) : static_cast<Element>(*h0.Row(row));
  }

  int64_t n, columns;
  bool reverse;
  // Whether a[i-1] takes the place of a[i], and 1 that of a[0].
  bool shifted;
  RecurrenceOperand<T> a, b;
  RecurrenceOperand<T> h0;  // its data may be null, for zeros
  T* h;
  // It may take the place of h0: 16 bits are too few for what devices exchange.
  RecurrenceOperand<Element> wide_h0 = {};
};

// Generalized advantage estimates: the recurrence that goes back through
//   a[i] = discounts[i] lambda,
//   b[i] = rewards[i] + discounts[i] values[i+1] - values[i].
template <typename T>
struct Advantages
    : Recurrence<T> {           // with the discounts as a, the rewards as b
  RecurrenceOperand<T> values;  // one step more
  RecurrenceOperand<T> lambda;  // one step
};

// How many rows of one column, or parts of one for its end, are computed at a
// time, at most.
template <typename T>
int64_t RecurrenceRowsAtOnce();

// Computes rows [begin, end) of a call with one column.
template <typename Call>
void RunRecurrenceRows(const Call& call, int64_t begin, int64_t end);

// Computes columns [begin, end) of a row.
template <typename Call>
void RunRecurrenceColumns(const Call& call, int64_t row, int64_t begin,
                          int64_t end);

// Enqueues a Recurrence or Advantages.
template <typename Call>
void LaunchRecurrence(Cuda device, const Call& call, int64_t rows);

// A call, and what its steps make of h before them: A h + B. A is the product
// of the factors, kept as m 2^e: it may overflow where A h does not. If the
// call is `shifted`, this is what the last step passes on, and not h there.
template <typename T>
struct RecurrenceEnds {
  Recurrence<T> call;  // without h0 and h
  bool in_parts;  // of rows of one column: whether each has several strands
  // [rows, columns]:
  double* m;
  int64_t* e;
  double* b;
};

// Enqueues those of all rows.
template <typename T>
void LaunchRecurrenceEnds(Cuda device, const RecurrenceEnds<T>& ends,
                          int64_t rows);

// Computes those of rows [begin, end) of a call with one column.
template <typename T>
void RunRowEnds(const RecurrenceEnds<T>& ends, int64_t begin, int64_t end);

// Computes those of columns [begin, end) of a row.
template <typename T>
void RunColumnEnds(const RecurrenceEnds<T>& ends, int64_t row, int64_t begin,
                   int64_t end);

namespace internal {

// a h + b.
template <typename E>
XLA_FFI_OPS_HD E MultiplyAdd(E a, E h, E b) {
  return a * h + b;
}
// Without the detours that operator* takes where there are infinities.
template <typename R>
XLA_FFI_OPS_HD std::complex<R> MultiplyAdd(const std::complex<R>& a,
                                           const std::complex<R>& h,
                                           const std::complex<R>& b) {
  return {a.real() * h.real() - a.imag() * h.imag() + b.real(),
          a.real() * h.imag() + a.imag() * h.real() + b.imag()};
}

}  // namespace internal
}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_SCANS_RECURRENCES_RECURRENCE_H_
