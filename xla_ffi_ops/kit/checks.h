// SPDX-License-Identifier: Apache-2.0
// Checks of a handler's operands, results and attributes, with one style of
// message: "<name> must <expectation>, got <what came>".
//
// A registered target can be called by anyone with anything, so a handler
// checks whatever could make it touch memory that is not its own.
#ifndef XLA_FFI_OPS_KIT_CHECKS_H_
#define XLA_FFI_OPS_KIT_CHECKS_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "xla/ffi/api/ffi.h"
#include "xla_ffi_ops/kit/dtype.h"
#include "xla_ffi_ops/kit/rows.h"

namespace xla_ffi_ops {

// Sizes of dimensions: a view that owns nothing.
using Shape = xla::ffi::Span<const int64_t>;

// The number of elements; 1 for no dimensions. It cannot overflow for the shape
// of a buffer, nor for loop dimensions that a checked result has in full.
int64_t Product(Shape shape);
std::string ToString(Shape shape);  // "[2, 3]"

// The size of a core dimension of a generalized ufunc. One that is unknown
// becomes what the first operand or result with it has.
using Dim = int64_t;
inline constexpr Dim kUnknownDim = -1;

// Checks one call of a generalized ufunc and keeps the first failure. Operands
// are [loops..., core...]; each has the loop dimensions of the call in full or
// as 1, or lacks them all, and is then broadcast. Check all operands, then all
// results, which have the loop dimensions in full.
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

  // The loop dimensions that all operands so far broadcast to; valid until the
  // next operand.
  Shape loops() const { return loops_; }

  // Fails with "<name> must <expected>, got <got>" unless a check has failed.
  void Fail(const char* name, const std::string& expected,
            const std::string& got);

  void Operand(const char* name, const xla::ffi::AnyBuffer& buffer,
               DTypeSet expected, std::initializer_list<Dim*> core);

  // An operand that may also have just the first `loop_rank` loop dimensions;
  // the others share it. Returns whether it does. Only after the operands that
  // have all loop dimensions.
  bool SharedOperand(const char* name, const xla::ffi::AnyBuffer& buffer,
                     DTypeSet expected, std::initializer_list<Dim*> core,
                     int64_t loop_rank);

  // A result that has the first `loop_rank` loop dimensions, by default all.
  void Result(const char* name, const xla::ffi::AnyBuffer& buffer,
              DTypeSet expected, std::initializer_list<Dim*> core,
              int64_t loop_rank);
  void Result(const char* name, const xla::ffi::AnyBuffer& buffer,
              DTypeSet expected, std::initializer_list<Dim*> core) {
    Result(name, buffer, expected, core, loops_.size());
  }

  // The map from the rows of the call, one for each index of the loops, to
  // those of an operand whose last `core_rank` dimensions make a row. Only
  // after all operands.
  RowMap Map(const char* name, const xla::ffi::AnyBuffer& buffer,
             int64_t core_rank);

 private:
  void CheckDType(const char* name, const xla::ffi::AnyBuffer& buffer,
                  DTypeSet expected);
  // Returns the loop dimensions of `buffer`, none if its rank is too low.
  Shape CheckCore(const char* name, const xla::ffi::AnyBuffer& buffer,
                  std::initializer_list<Dim*> core);
  // Broadcasts loops_ and `own`, which are its first dimensions if it is
  // `shared` and all of them if not.
  void Broadcast(const char* name, const xla::ffi::AnyBuffer& buffer, Shape own,
                 bool shared);

  std::vector<int64_t> loops_;
  xla::ffi::Error error_;
};

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_KIT_CHECKS_H_
