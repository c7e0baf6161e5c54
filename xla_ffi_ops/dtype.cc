// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/dtype.h"

#include <string>

namespace xla_ffi_ops {

std::string Name(xla::ffi::DataType dtype) {
  switch (dtype) {
    case xla::ffi::PRED:
      return "bool";
    case xla::ffi::S8:
      return "int8";
    case xla::ffi::S16:
      return "int16";
    case xla::ffi::S32:
      return "int32";
    case xla::ffi::S64:
      return "int64";
    case xla::ffi::U8:
      return "uint8";
    case xla::ffi::U16:
      return "uint16";
    case xla::ffi::U32:
      return "uint32";
    case xla::ffi::U64:
      return "uint64";
    case xla::ffi::F16:
      return "float16";
    case xla::ffi::F32:
      return "float32";
    case xla::ffi::F64:
      return "float64";
    case xla::ffi::BF16:
      return "bfloat16";
    case xla::ffi::C64:
      return "complex64";
    case xla::ffi::C128:
      return "complex128";
    default:
      return "XLA dtype " + std::to_string(static_cast<int>(dtype));
  }
}

std::string Name(DTypeSet dtypes) {
  std::string names;
  for (int value = 0; value < 64; ++value) {
    const auto dtype = static_cast<xla::ffi::DataType>(value);
    if (!dtypes.Contains(dtype)) continue;
    names += (names.empty() ? "" : " or ") + Name(dtype);
  }
  return names;
}

}  // namespace xla_ffi_ops
