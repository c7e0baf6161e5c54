// SPDX-License-Identifier: Apache-2.0
// XLA's dtypes: the C++ types to compute with, dispatch, names and sizes.
#ifndef XLA_FFI_OPS_HANDLER_DTYPE_H_
#define XLA_FFI_OPS_HANDLER_DTYPE_H_

#include <cstdint>
#include <stdexcept>
#include <string>

#include "xla/ffi/api/ffi.h"
#include "xla_ffi_ops/vec/float16.h"
#include "xla_ffi_ops/vec/types.h"

namespace xla_ffi_ops {

// numpy's name: "float32"; "XLA dtype 77" for one that is newer than this file.
std::string Name(xla::ffi::DataType dtype);

// The number of bits of an element: 4 for int4; 0 for tokens and dtypes that
// are newer than this file.
int64_t BitWidth(xla::ffi::DataType dtype);

// The number of bytes of a buffer. XLA packs elements below 8 bits: the first
// one is in the lowest bits, rows are not padded, and bits after the last one
// may be anything. AnyBuffer::size_bytes() counts a byte for each element, more
// than there is to read.
int64_t ByteSize(const xla::ffi::AnyBuffer& buffer);

// The C++ type of an XLA dtype, with value types for float16 and bfloat16. The
// dtypes of 8 bits or fewer that C++ has no type for (float8_*, int4 and so on)
// do not compile: such a buffer is ByteSize(buffer) bytes.
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

// The dtype of a type that ops are compiled for.
template <typename T>
inline constexpr auto kDTypeOf = xla::ffi::DataType::INVALID;
template <>
inline constexpr auto kDTypeOf<int8_t> = xla::ffi::S8;
template <>
inline constexpr auto kDTypeOf<int16_t> = xla::ffi::S16;
template <>
inline constexpr auto kDTypeOf<int32_t> = xla::ffi::S32;
template <>
inline constexpr auto kDTypeOf<int64_t> = xla::ffi::S64;
template <>
inline constexpr auto kDTypeOf<uint8_t> = xla::ffi::U8;
template <>
inline constexpr auto kDTypeOf<uint16_t> = xla::ffi::U16;
template <>
inline constexpr auto kDTypeOf<uint32_t> = xla::ffi::U32;
template <>
inline constexpr auto kDTypeOf<uint64_t> = xla::ffi::U64;
template <>
inline constexpr auto kDTypeOf<Float16> = xla::ffi::F16;
template <>
inline constexpr auto kDTypeOf<BFloat16> = xla::ffi::BF16;
template <>
inline constexpr auto kDTypeOf<float> = xla::ffi::F32;
template <>
inline constexpr auto kDTypeOf<double> = xla::ffi::F64;

// The elements of a buffer whose dtype was checked.
template <typename T>
T* Data(const xla::ffi::AnyBuffer& buffer) {
  return static_cast<T*>(buffer.untyped_data());
}

// The dtypes that an operand may have.
class DTypeSet {
 public:
  DTypeSet(xla::ffi::DataType dtype) : bits_(Bit(dtype)) {}  // NOLINT
  explicit DTypeSet(uint64_t bits) : bits_(bits) {}

  // A dtype beyond 63, which a later XLA may have, is in no set.
  static constexpr uint64_t Bit(xla::ffi::DataType dtype) {
    const int value = static_cast<int>(dtype);
    return value < 64 ? uint64_t{1} << value : 0;
  }
  bool Contains(xla::ffi::DataType dtype) const {
    return (bits_ & Bit(dtype)) != 0;
  }

 private:
  uint64_t bits_;
};

// "float32"; "int32, float32 or float64".
std::string Name(DTypeSet dtypes);

// A list of dtypes to dispatch over; also the set of them.
template <xla::ffi::DataType... dtypes>
struct DTypes {
  operator DTypeSet() const {  // NOLINT
    return DTypeSet((DTypeSet::Bit(dtypes) | ...));
  }
};

namespace internal {

template <typename... T>
DTypes<kDTypeOf<T>...> DTypesFor(Types<T...>);

}  // namespace internal

// The dtypes of a list of types (types.h).
template <typename List>
using DTypesOf = decltype(internal::DTypesFor(List()));

using FloatDTypes = DTypesOf<FloatTypes>;

// Those whose elements have an order: kit.ORDERED in Python.
using OrderedDTypes =
    DTypes<xla::ffi::PRED, xla::ffi::S8, xla::ffi::S16, xla::ffi::S32,
           xla::ffi::S64, xla::ffi::U8, xla::ffi::U16, xla::ffi::U32,
           xla::ffi::U64, xla::ffi::F16, xla::ffi::BF16, xla::ffi::F32,
           xla::ffi::F64>;

// Those of an op's DeviceTypes on a device.
template <typename Device, typename OpTypes>
using DTypesOn = DTypesOf<typename OpTypes::template On<Device>>;

// The dtype of sums over values of the floating-point `dtype`; Accumulator in
// float16.h is its C++ type.
inline xla::ffi::DataType AccumulatorDType(xla::ffi::DataType dtype) {
  return dtype == xla::ffi::F64 ? xla::ffi::F64 : xla::ffi::F32;
}

// Returns fn(TypeTag<T>()) for the C++ type T of `dtype`:
//
//   Dispatch(FloatDTypes(), x.element_type(), [&](auto tag) {
//     using T = TypeOf<decltype(tag)>;
//     ...
//   });
//
// Throws std::invalid_argument for a dtype that the list lacks: check before.
template <xla::ffi::DataType head, xla::ffi::DataType... tail, typename Fn>
auto Dispatch(DTypes<head, tail...>, xla::ffi::DataType dtype, Fn&& fn) {
  if (dtype == head) return fn(TypeTag<NativeType<head>>());
  if constexpr (sizeof...(tail) > 0) {
    return Dispatch(DTypes<tail...>(), dtype, fn);
  } else {
    throw std::invalid_argument("no kernel for dtype " + Name(dtype));
  }
}

// Returns fn(TypeTag<T>(), TypeTag<W>()) for rows of dtype `rows`, one of the
// list, and weights of dtype `weights`, as Dispatch does.
template <typename List, typename Fn>
auto DispatchWeighted(List list, xla::ffi::DataType rows,
                      xla::ffi::DataType weights, Fn&& fn) {
  return Dispatch(list, rows, [&](auto t) {
    using Weights = DTypesOf<WeightTypes<TypeOf<decltype(t)>>>;
    return Dispatch(Weights(), weights, [&](auto w) { return fn(t, w); });
  });
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_HANDLER_DTYPE_H_
