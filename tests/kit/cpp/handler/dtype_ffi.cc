// SPDX-License-Identifier: Apache-2.0
// dtype.h for dtype_test.py: what it says of a buffer, and dispatch.
#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "xla_ffi_ops/ffi.h"

namespace xla_ffi_ops {
namespace {

template <ffi::DataType dtype>
using Vector = ffi::Result<ffi::Buffer<dtype, 1>>;

// The name of x's dtype, filled up with zeros; the bits of an element and the
// bytes of x; and as many of these as `bytes` has room for.
template <typename Device>
HandlerResult Describe(Device, ffi::AnyBuffer x, Vector<ffi::U8> name,
                       Vector<ffi::S64> sizes, Vector<ffi::U8> bytes) {
  if (name->element_count() != 32 || sizes->element_count() != 2) {
    return ffi::Error::InvalidArgument("results of 32 and of 2 are wanted");
  }
  std::memset(name->untyped_data(), 0, 32);
  const std::string text = Name(x.element_type()).substr(0, 32);
  std::copy(text.begin(), text.end(), name->typed_data());
  sizes->typed_data()[0] = BitWidth(x.element_type());
  sizes->typed_data()[1] = ByteSize(x);
  const auto room = static_cast<int64_t>(bytes->element_count());
  std::memset(bytes->untyped_data(), 0, room);
  std::memcpy(bytes->untyped_data(), x.untyped_data(),
              std::min(room, ByteSize(x)));
  return ffi::Error::Success();
}

using Dispatched = DTypes<ffi::PRED, ffi::S8, ffi::S16, ffi::S32, ffi::S64,
                          ffi::U8, ffi::U16, ffi::U32, ffi::U64, ffi::F16,
                          ffi::BF16, ffi::F32, ffi::F64, ffi::C64, ffi::C128>;

// y = x + x in the C++ type of x, for the dtypes above.
template <typename Device>
HandlerResult Twice(Device, ffi::AnyBuffer x, ffi::Result<ffi::AnyBuffer> y) {
  if (y->element_type() != x.element_type() || ByteSize(*y) != ByteSize(x)) {
    return ffi::Error::InvalidArgument("y is not like x");
  }
  return Dispatch(Dispatched(), x.element_type(), [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    const T* from = Data<const T>(x);
    std::transform(from, from + x.element_count(), Data<T>(*y),
                   [](T value) { return static_cast<T>(value + value); });
    return ffi::Error::Success();
  });
}

// x without the check that a handler has to make before it dispatches.
template <typename Device>
ffi::Error OnlyFloat32(Device, ffi::AnyBuffer x, ffi::Result<ffi::AnyBuffer>) {
  return Dispatch(DTypes<ffi::F32>(), x.element_type(),
                  [](auto) { return ffi::Error::Success(); });
}

static_assert(std::is_same_v<NativeType<ffi::F16>, Float16>);
static_assert(std::is_same_v<NativeType<ffi::BF16>, BFloat16>);
static_assert(std::is_same_v<NativeType<ffi::C64>, std::complex<float>>);

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(kit_test_describe, Describe,
                           .Arg<ffi::AnyBuffer>()                 // x
                               .Ret<ffi::Buffer<ffi::U8, 1>>()    // name
                               .Ret<ffi::Buffer<ffi::S64, 1>>()   // sizes
                               .Ret<ffi::Buffer<ffi::U8, 1>>());  // bytes

XLA_FFI_OPS_DEFINE_HANDLER(kit_test_twice, Twice,
                           .Arg<ffi::AnyBuffer>()        // x
                               .Ret<ffi::AnyBuffer>());  // y

XLA_FFI_OPS_DEFINE_HANDLER(kit_test_only_float32, OnlyFloat32,
                           .Arg<ffi::AnyBuffer>()        // x
                               .Ret<ffi::AnyBuffer>());  // y

}  // namespace xla_ffi_ops
