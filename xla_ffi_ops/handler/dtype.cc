// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/handler/dtype.h"

#include <cstdint>
#include <string>

namespace xla_ffi_ops {
namespace {

namespace ffi = ::xla::ffi;

struct DTypeInfo {
  ffi::DataType dtype;
  int bits;
  const char* name;
};

constexpr DTypeInfo kDTypes[] = {
    {ffi::PRED, 8, "bool"},
    {ffi::S1, 1, "int1"},
    {ffi::S2, 2, "int2"},
    {ffi::S4, 4, "int4"},
    {ffi::S8, 8, "int8"},
    {ffi::S16, 16, "int16"},
    {ffi::S32, 32, "int32"},
    {ffi::S64, 64, "int64"},
    {ffi::U1, 1, "uint1"},
    {ffi::U2, 2, "uint2"},
    {ffi::U4, 4, "uint4"},
    {ffi::U8, 8, "uint8"},
    {ffi::U16, 16, "uint16"},
    {ffi::U32, 32, "uint32"},
    {ffi::U64, 64, "uint64"},
    {ffi::F4E2M1FN, 4, "float4_e2m1fn"},
    {ffi::F8E3M4, 8, "float8_e3m4"},
    {ffi::F8E4M3, 8, "float8_e4m3"},
    {ffi::F8E4M3FN, 8, "float8_e4m3fn"},
    {ffi::F8E4M3FNUZ, 8, "float8_e4m3fnuz"},
    {ffi::F8E4M3B11FNUZ, 8, "float8_e4m3b11fnuz"},
    {ffi::F8E5M2, 8, "float8_e5m2"},
    {ffi::F8E5M2FNUZ, 8, "float8_e5m2fnuz"},
    {ffi::F8E8M0FNU, 8, "float8_e8m0fnu"},
    {ffi::F16, 16, "float16"},
    {ffi::BF16, 16, "bfloat16"},
    {ffi::F32, 32, "float32"},
    {ffi::F64, 64, "float64"},
    {ffi::C64, 64, "complex64"},
    {ffi::C128, 128, "complex128"},
    {ffi::TOKEN, 0, "token"},
};

const DTypeInfo* Find(ffi::DataType dtype) {
  for (const DTypeInfo& info : kDTypes) {
    if (info.dtype == dtype) return &info;
  }
  return nullptr;
}

}  // namespace

std::string Name(ffi::DataType dtype) {
  if (const DTypeInfo* info = Find(dtype)) return info->name;
  return "XLA dtype " + std::to_string(static_cast<int>(dtype));
}

int64_t BitWidth(ffi::DataType dtype) {
  const DTypeInfo* info = Find(dtype);
  return info != nullptr ? info->bits : 0;
}

int64_t ByteSize(const ffi::AnyBuffer& buffer) {
  const auto count = static_cast<int64_t>(buffer.element_count());
  const int64_t bits = BitWidth(buffer.element_type());
  // By whole bytes first: the number of bits may exceed an int64_t.
  return count / 8 * bits + (count % 8 * bits + 7) / 8;
}

std::string Name(DTypeSet dtypes) {
  std::string names;
  std::string last;
  for (const DTypeInfo& info : kDTypes) {
    if (!dtypes.Contains(info.dtype)) continue;
    if (!last.empty()) names += (names.empty() ? "" : ", ") + last;
    last = info.name;
  }
  return names + (names.empty() ? "" : " or ") + last;
}

}  // namespace xla_ffi_ops
