// SPDX-License-Identifier: Apache-2.0
// Checks of a handler's operands, results and attributes, with one style of
// message: "<op>: <operand> must <expectation>, got <what came>".
//
// A registered target can be called by anyone with anything, so a handler
// checks whatever could make it touch memory that is not its own.
#ifndef XLA_FFI_OPS_CHECKS_H_
#define XLA_FFI_OPS_CHECKS_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "xla/ffi/api/ffi.h"
#include "xla_ffi_ops/dtype.h"
#include "xla_ffi_ops/rows.h"

namespace xla_ffi_ops {

using Shape = std::vector<int64_t>;

Shape ShapeOf(const xla::ffi::AnyBuffer& buffer);
int64_t Product(const Shape& shape);
std::string ToString(const Shape& shape);  // "[2, 3]"

// A core dimension of a generalized ufunc: whatever its first operand has.
using Dim = int64_t;
inline constexpr Dim kUnknownDim = -1;

// Checks one call of a generalized ufunc and keeps the first failure. Operands
// are [loops..., core...]; each has the loop dimensions of the call in full or
// as 1, or lacks them all, and is then broadcast. Check all operands, then all
// results, which have the loop dimensions in full.
//
//   Dim d = kUnknownDim;
//   Checks checks(op);
//   checks.Operand("x", x, FloatDTypes(), {&d});
//   checks.Operand("scale", scale, FloatDTypes(), {&d});
//   checks.Result("y", *y, x.element_type(), {&d});
//   if (!checks.ok()) return checks.error();
class Checks {
 public:
  explicit Checks(std::string op) : op_(std::move(op)) {}

  bool ok() const { return !error_; }
  xla::ffi::Error error() const { return *error_; }

  // The loop dimensions that all operands so far broadcast to.
  const Shape& loops() const { return loops_; }

  // Fails with "<op>: <name> must <expected>, got <got>" unless `holds`.
  void That(bool holds, const char* name, const std::string& expected,
            const std::string& got);

  void Operand(const char* name, const xla::ffi::AnyBuffer& buffer,
               DTypeSet expected, std::initializer_list<Dim*> core);

  // An operand that may also have just the first `loop_rank` loop dimensions;
  // the others share it. Returns whether it does. Only after the operands that
  // have all loop dimensions.
  bool SharedOperand(const char* name, const xla::ffi::AnyBuffer& buffer,
                     DTypeSet expected, std::initializer_list<Dim*> core,
                     int64_t loop_rank);

  // A result that has the first `loop_rank` loop dimensions.
  void Result(const char* name, const xla::ffi::AnyBuffer& buffer,
              DTypeSet expected, std::initializer_list<Dim*> core,
              int64_t loop_rank);
  void Result(const char* name, const xla::ffi::AnyBuffer& buffer,
              DTypeSet expected, std::initializer_list<Dim*> core) {
    Result(name, buffer, expected, core, loops_.size());
  }

  // The map from the rows of the call to those of an operand whose last
  // `core_rank` dimensions make a row. Only after all operands.
  RowMap Map(const char* name, const xla::ffi::AnyBuffer& buffer,
             int64_t core_rank);

 private:
  void HasDType(const char* name, const xla::ffi::AnyBuffer& buffer,
                DTypeSet expected);
  void Join(const char* name, const Shape& shape,
            std::initializer_list<Dim*> core);

  const std::string op_;
  Shape loops_;
  std::optional<xla::ffi::Error> error_;
};

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_CHECKS_H_
