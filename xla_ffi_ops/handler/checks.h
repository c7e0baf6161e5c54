// SPDX-License-Identifier: Apache-2.0
// Checks of a handler's operands, results and attributes, with one style of
// message: "<name> must <expectation>, got <what came>".
//
// A registered target can be called by anyone with anything, so a handler
// checks whatever could make it touch memory that is not its own.
#ifndef XLA_FFI_OPS_HANDLER_CHECKS_H_
#define XLA_FFI_OPS_HANDLER_CHECKS_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "xla/ffi/api/ffi.h"
#include "xla_ffi_ops/handler/dtype.h"
#include "xla_ffi_ops/vec/row_map.h"

namespace xla_ffi_ops {

// Sizes of dimensions: a view that owns nothing.
using Shape = xla::ffi::Span<const int64_t>;

// The number of elements; 1 for no dimensions, the largest int64_t for too
// many.
int64_t Product(Shape shape);
std::string ToString(Shape shape);  // "[2, 3]"

// The size of a core dimension of a generalized ufunc. One that is unknown
// becomes what the first operand or result with it has.
using Dim = int64_t;
inline constexpr Dim kUnknownDim = -1;

// Where the sizes of a core are: a view that owns nothing.
class CoreDims {
 public:
  CoreDims(std::initializer_list<Dim*> dims) : size_(dims.size()) {  // NOLINT
    begin_ = dims.begin();  // As an initializer, g++ 12 warns of it.
  }
  CoreDims(const std::vector<Dim*>& dims)  // NOLINT
      : begin_(dims.data()), size_(dims.size()) {}

  Dim* const* begin() const { return begin_; }
  Dim* const* end() const { return begin_ + size_; }
  size_t size() const { return size_; }

 private:
  Dim* const* begin_;
  size_t size_;
};

// Checks one call of a generalized ufunc and keeps the first failure. Operands
// are [loops..., core...]; each has the loop dimensions of the call in full or
// as 1, or lacks them all, and is then broadcast. Check all operands, then all
// results, which have the loop dimensions in full. (See TrailingRank for loops
// behind the core, and call.h for operands that may be absent.)
//
//   Dim d = kUnknownDim;
//   Checks checks;
//   checks.Operand("x", x, FloatDTypes(), {&d});
//   checks.Operand("scale", scale, FloatDTypes(), {&d});
//   const RowMap scale_map = checks.Map("scale", scale, 1);
//   checks.Result("y", *y, x.element_type(), {&d});
//   if (!checks.ok()) return checks.error();
class Checks {
 public:
  bool ok() const { return error_.success(); }
  const xla::ffi::Error& error() const { return error_; }

  // The leading loop dimensions that all operands so far broadcast to, and the
  // trailing ones; valid until the next operand.
  Shape loops() const {
    return Shape(loops_).first(loops_.size() - trailing().size());
  }
  Shape trailing() const {
    return loops_.empty() ? Shape() : Shape(loops_).last(trailing_rank_);
  }

  // Fails with "<name> must <expected>, got <got>" unless a check has failed.
  void Fail(const char* name, const std::string& expected,
            const std::string& got);

  // Indices into a dimension `n` of the operand `name` fit into int32.
  void IndicesFit(const char* name, Dim n);

  // The attribute `name` is a number and at least `minimum`.
  void AtLeast(const char* name, double value, double minimum);

  // The attribute `trailing_rank`: what has loops is [loops..., core...,
  // trailing...], with that many trailing ones. Before all operands.
  void TrailingRank(int64_t trailing_rank);

  // The attribute `batch_rank` of a backward pass: how many of the leading
  // dimensions are loops; the others, and the trailing ones, are rows. After
  // the operands that have all of them.
  void BatchRank(int64_t batch_rank);

  void Operand(const char* name, const xla::ffi::AnyBuffer& buffer,
               DTypeSet expected, CoreDims core);

  // An operand that rows may share. It then has only the first `loop_rank` loop
  // dimensions and no trailing ones. Returns whether rows share it. Call it
  // after the operands that have all loop dimensions.
  bool SharedOperand(const char* name, const xla::ffi::AnyBuffer& buffer,
                     DTypeSet expected, CoreDims core, int64_t loop_rank);

  // A result that has all loop dimensions, or the first `loop_rank` and no
  // trailing ones.
  void Result(const char* name, const xla::ffi::AnyBuffer& buffer,
              DTypeSet expected, CoreDims core) {
    ResultOf(name, buffer, expected, loops(), core, trailing());
  }
  void Result(const char* name, const xla::ffi::AnyBuffer& buffer,
              DTypeSet expected, CoreDims core, int64_t loop_rank) {
    ResultOf(name, buffer, expected, loops().first(loop_rank), core, Shape());
  }

  // The map from the rows of the call, one for each index of the leading loops,
  // to those of an operand with `core_rank` core dimensions, which with the
  // trailing ones make a row. Only after all operands.
  RowMap Map(const char* name, const xla::ffi::AnyBuffer& buffer,
             int64_t core_rank);

  // Likewise from the indices of the trailing loops to those of an operand. Its
  // element j in row i of the core, at t, is in
  //   row(i)[j * TrailingSize(x, core_rank) + map(t)].
  RowMap TrailingMap(const char* name, const xla::ffi::AnyBuffer& buffer,
                     int64_t core_rank);
  int64_t TrailingSize(const xla::ffi::AnyBuffer& buffer,
                       int64_t core_rank) const {
    return Product(Trailing(buffer, core_rank));
  }

 private:
  void CheckDType(const char* name, const xla::ffi::AnyBuffer& buffer,
                  DTypeSet expected);
  // Checks the core dimensions, of which `begin` is the first.
  void CheckCore(const char* name, const xla::ffi::AnyBuffer& buffer,
                 CoreDims core, size_t begin);
  // Broadcasts loops_ and `own`, which are its first dimensions if it is
  // `shared` and all of them if not.
  void Broadcast(const char* name, const xla::ffi::AnyBuffer& buffer, Shape own,
                 bool shared);
  void ResultOf(const char* name, const xla::ffi::AnyBuffer& buffer,
                DTypeSet expected, Shape leading, CoreDims core,
                Shape trailing);
  RowMap MapLoops(const char* name, const xla::ffi::AnyBuffer& buffer,
                  Shape loops, Shape own);
  // The trailing dimensions of an operand. Only after all operands.
  Shape Trailing(const xla::ffi::AnyBuffer& buffer, int64_t core_rank) const;

  std::vector<int64_t> loops_;  // the leading ones and then the trailing ones
  int64_t trailing_rank_ = 0;
  xla::ffi::Error error_;
};

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_HANDLER_CHECKS_H_
