// SPDX-License-Identifier: Apache-2.0
// Checks of shapes that no array has: a frame made by hand may have them.
#include "xla_ffi_ops/handler/checks.h"

#include <cstdint>
#include <string>
#include <vector>

#include "tests/kit/cpp/fake_xla.h"
#include "xla/ffi/api/ffi.h"

namespace xla_ffi_ops {
namespace {

// The error of a call with one operand of one core dimension.
std::string Check(std::vector<int64_t> dims) {
  XLA_FFI_Buffer buffer{};
  buffer.struct_size = XLA_FFI_Buffer_STRUCT_SIZE;
  buffer.dtype = XLA_FFI_DataType_F32;
  buffer.rank = dims.size();
  buffer.dims = dims.data();
  const xla::ffi::AnyBuffer operand(&buffer);
  Dim size = kUnknownDim;
  Checks checks;
  checks.Operand("x", operand, FloatDTypes(), {&size});
  checks.Map("x", operand, 1);
  return checks.error().message();
}

std::string CheckIndices(Dim n) {
  Checks checks;
  checks.IndicesFit("x", n);
  return checks.error().message();
}

constexpr int64_t kMany = int64_t{1} << 40;

}  // namespace
}  // namespace xla_ffi_ops

int main() {
  using namespace xla_ffi_ops;  // NOLINT
  CHECK(Check({2, 3, 4}).empty());
  CHECK(Check({kMany, kMany, 0, 4}).empty());
  CHECK(Check({0, kMany, kMany, 4}).empty());
  CHECK(Check({kMany, kMany, 4}).rfind("x must have leading dimensions", 0) ==
        0);
  CHECK(CheckIndices(int64_t{1} << 31).empty());
  CHECK(CheckIndices((int64_t{1} << 31) + 1) ==
        "x must have indices that fit into int32, got 2147483649");
}
