// SPDX-License-Identifier: Apache-2.0
// dtype.h on what JAX cannot make: unknown dtypes, huge buffers, sets.
#include <cstdint>
#include <vector>

#include "tests/kit/cpp/fake_xla.h"
#include "xla/ffi/api/ffi.h"
#include "xla_ffi_ops/handler/dtype.h"

namespace xla_ffi_ops {
namespace {

namespace ffi = ::xla::ffi;

constexpr auto kUnknown = static_cast<ffi::DataType>(64 + 11);  // F32 is 11.

int64_t SizeOf(ffi::DataType dtype, std::vector<int64_t> dimensions) {
  XLA_FFI_Buffer buffer{};
  buffer.struct_size = XLA_FFI_Buffer_STRUCT_SIZE;
  buffer.dtype = static_cast<XLA_FFI_DataType>(dtype);
  buffer.rank = static_cast<int64_t>(dimensions.size());
  buffer.dims = dimensions.data();
  return ByteSize(ffi::AnyBuffer(&buffer));
}

void TestUnknownDType() {
  CHECK(Name(kUnknown) == "XLA dtype 75");
  CHECK(BitWidth(kUnknown) == 0);
  CHECK(SizeOf(ffi::DataType(63), {3}) == 0);
  CHECK(Name(ffi::TOKEN) == "token");
  CHECK(BitWidth(ffi::TOKEN) == 0);
}

// XLA's header counts a byte for a packed element, and bytes for all others.
void TestEveryDTypeIsKnown() {
  int packed = 0;
  for (int value = 1; value <= static_cast<int>(ffi::F8E8M0FNU); ++value) {
    const auto dtype = static_cast<ffi::DataType>(value);
    if (value == 13 || value == 14) continue;  // XLA's tuple and opaque type.
    CHECK(Name(dtype).find("XLA") == std::string::npos);
    const auto bits = 8 * static_cast<int64_t>(ffi::ByteWidth(dtype));
    if (BitWidth(dtype) == bits) continue;
    CHECK(bits == 8);
    CHECK(BitWidth(dtype) < 8);
    ++packed;
  }
  CHECK(packed == 7);
}

void TestByteSize() {
  for (const ffi::DataType dtype : {ffi::S1, ffi::U1}) {
    CHECK(SizeOf(dtype, {0}) == 0);
    CHECK(SizeOf(dtype, {}) == 1);
    CHECK(SizeOf(dtype, {8}) == 1);
    CHECK(SizeOf(dtype, {3, 3}) == 2);
  }
  constexpr int64_t kHuge = int64_t{1} << 62;
  CHECK(SizeOf(ffi::U8, {kHuge + 1}) == kHuge + 1);
  CHECK(SizeOf(ffi::S4, {kHuge + 3}) == kHuge / 2 + 2);
  CHECK(SizeOf(ffi::C128, {kHuge / 16}) == kHuge);
}

void TestSets() {
  CHECK(Name(DTypeSet(ffi::F32)) == "float32");
  CHECK(Name(DTypes<ffi::F32, ffi::S32>()) == "int32 or float32");
  CHECK(Name(FloatDTypes()) == "float16, bfloat16, float32 or float64");
  CHECK(Name(DTypeSet(uint64_t{0})).empty());
  const DTypeSet floats = FloatDTypes();
  CHECK(floats.Contains(ffi::BF16));
  CHECK(floats.Contains(ffi::F32));
  CHECK(!floats.Contains(ffi::S32));
  CHECK(!floats.Contains(kUnknown));
  CHECK(!DTypeSet(kUnknown).Contains(kUnknown));
}

void TestAccumulator() {
  CHECK(AccumulatorDType(ffi::F16) == ffi::F32);
  CHECK(AccumulatorDType(ffi::BF16) == ffi::F32);
  CHECK(AccumulatorDType(ffi::F32) == ffi::F32);
  CHECK(AccumulatorDType(ffi::F64) == ffi::F64);
}

}  // namespace
}  // namespace xla_ffi_ops

int main() {
  using namespace xla_ffi_ops;  // NOLINT
  TestUnknownDType();
  TestEveryDTypeIsKnown();
  TestByteSize();
  TestSets();
  TestAccumulator();
}
