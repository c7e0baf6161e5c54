// SPDX-License-Identifier: Apache-2.0
// From XLA's dtypes to C++ types: names for messages and dispatch.
#ifndef XLA_FFI_OPS_DTYPE_H_
#define XLA_FFI_OPS_DTYPE_H_

#include <cstdint>
#include <string>
#include <type_traits>

#include "xla/ffi/api/ffi.h"
#include "xla_ffi_ops/float16.h"

namespace xla_ffi_ops {

// Stands for a C++ type in a function argument.
template <typename T>
struct TypeTag {
  using type = T;
};

// The type that a tag stands for: `TypeOf<decltype(tag)>`.
template <typename Tag>
using TypeOf = typename std::remove_reference_t<Tag>::type;

// The C++ type of an XLA dtype, with value types for float16 and bfloat16.
template <xla::ffi::DataType dtype>
struct NativeTypeOf {
  using type = xla::ffi::NativeType<dtype>;
};
template <>
struct NativeTypeOf<xla::ffi::F16> {
  using type = Float16;
};
template <>
struct NativeTypeOf<xla::ffi::BF16> {
  using type = BFloat16;
};
template <xla::ffi::DataType dtype>
using NativeType = typename NativeTypeOf<dtype>::type;

// The dtypes an operand may have, as a value and as a type to dispatch over.
class DTypeSet {
 public:
  DTypeSet(xla::ffi::DataType dtype) : bits_(Bit(dtype)) {}  // NOLINT
  explicit DTypeSet(uint64_t bits) : bits_(bits) {}

  static constexpr uint64_t Bit(xla::ffi::DataType dtype) {
    return uint64_t{1} << static_cast<int>(dtype);
  }
  bool Contains(xla::ffi::DataType dtype) const {
    return (bits_ & Bit(dtype)) != 0;
  }

 private:
  uint64_t bits_;
};

template <xla::ffi::DataType... dtypes>
struct DTypes {
  operator DTypeSet() const {
    return DTypeSet((DTypeSet::Bit(dtypes) | ...));
  }
};

using FloatDTypes = DTypes<xla::ffi::F16, xla::ffi::BF16, xla::ffi::F32,
                           xla::ffi::F64>;

// The dtype of sums over values of `dtype`: see Accumulator in float16.h.
inline xla::ffi::DataType AccumulatorDType(xla::ffi::DataType dtype) {
  return dtype == xla::ffi::F64 ? xla::ffi::F64 : xla::ffi::F32;
}

// Returns fn(TypeTag<T>) for the C++ type T of `dtype`. The list has to contain
// `dtype`: check before. The last entry takes what no other entry does.
template <xla::ffi::DataType head, xla::ffi::DataType... tail, typename Fn>
auto Dispatch(DTypes<head, tail...>, xla::ffi::DataType dtype, Fn&& fn) {
  if constexpr (sizeof...(tail) > 0) {
    if (dtype != head) return Dispatch(DTypes<tail...>{}, dtype, fn);
  }
  return fn(TypeTag<NativeType<head>>{});
}

std::string Name(xla::ffi::DataType dtype);  // numpy's: "float32"
std::string Name(DTypeSet dtypes);           // "float32 or float64"

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_DTYPE_H_
