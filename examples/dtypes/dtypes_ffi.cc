// SPDX-License-Identifier: Apache-2.0
// Handlers of any dtype, which see bytes; and handlers of one dtype each, made
// by one template.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "xla_ffi_ops/ffi.h"

namespace {

namespace ffi = xla::ffi;

// `any` is memory of a known size, and `bytes` has that size. A dtype that is
// newer than the kit has 0 bits.
ffi::Error Check(const ffi::AnyBuffer& any,
                 const ffi::BufferR1<ffi::U8>& bytes) {
  if (xla_ffi_ops::BitWidth(any.element_type()) == 0) {
    return ffi::Error::InvalidArgument(
        "x must have elements of known size, got " +
        xla_ffi_ops::Name(any.element_type()));
  }
  const int64_t expected = xla_ffi_ops::ByteSize(any);
  if (bytes.dimensions()[0] == expected) return ffi::Error::Success();
  return ffi::Error::InvalidArgument(
      "bytes must have " + std::to_string(expected) + " elements, got " +
      std::to_string(bytes.dimensions()[0]));
}

void Copy(void* to, const void* from, int64_t size) {
  if (size > 0) std::memcpy(to, from, size);
}

// The bytes of x as they are in memory. Never size_bytes(): it counts a byte
// for each int4, of which XLA packs two into one.
ffi::Error ToBytes(xla_ffi_ops::CpuContext, ffi::AnyBuffer x,
                   ffi::ResultBufferR1<ffi::U8> bytes) {
  if (ffi::Error e = Check(x, *bytes); e.failure()) return e;
  const int64_t size = xla_ffi_ops::ByteSize(x);
  Copy(bytes->typed_data(), x.untyped_data(), size);
  // What is after the last element may be anything.
  const int64_t bits = static_cast<int64_t>(x.element_count() % 8) *
                       xla_ffi_ops::BitWidth(x.element_type()) % 8;
  if (bits != 0) bytes->typed_data()[size - 1] &= (1 << bits) - 1;
  return ffi::Error::Success();
}

ffi::Error FromBytes(xla_ffi_ops::CpuContext, ffi::BufferR1<ffi::U8> bytes,
                     ffi::Result<ffi::AnyBuffer> x) {
  if (ffi::Error e = Check(*x, bytes); e.failure()) return e;
  Copy(x->untyped_data(), bytes.typed_data(), xla_ffi_ops::ByteSize(*x));
  return ffi::Error::Success();
}

// What AnyBuffer::size_bytes() says, to compare.
ffi::Error SizeBytes(xla_ffi_ops::CpuContext, ffi::AnyBuffer x,
                     ffi::ResultBufferR0<ffi::S64> size) {
  *size->typed_data() = static_cast<int64_t>(x.size_bytes());
  return ffi::Error::Success();
}

// As arithmetic in XLA, that of integers wraps around.
template <typename T>
auto Negative(T x) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(std::make_unsigned_t<T>{0} - x);
  } else {
    return -x;
  }
}

// -x, in the kit's C++ type of the dtype. XLA's headers check the dtype.
template <ffi::DataType dtype>
ffi::Error Negate(xla_ffi_ops::CpuContext, ffi::Buffer<dtype> x,
                  ffi::Result<ffi::Buffer<dtype>> y) {
  using T = xla_ffi_ops::NativeType<dtype>;
  const auto from = x.dimensions(), to = y->dimensions();
  if (!std::equal(from.begin(), from.end(), to.begin(), to.end())) {
    return ffi::Error::InvalidArgument(
        "y must have shape " + xla_ffi_ops::ToString(from) + ", as x, got " +
        xla_ffi_ops::ToString(to));
  }
  const T* const in = static_cast<const T*>(x.untyped_data());
  T* const out = static_cast<T*>(y->untyped_data());
  for (size_t i = 0; i < x.element_count(); ++i) out[i] = Negative(in[i]);
  return ffi::Error::Success();
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(
    example_to_bytes, ToBytes,
    .Arg<ffi::AnyBuffer>().Ret<ffi::BufferR1<ffi::U8>>());
XLA_FFI_OPS_DEFINE_HANDLER(
    example_from_bytes, FromBytes,
    .Arg<ffi::BufferR1<ffi::U8>>().Ret<ffi::AnyBuffer>());
XLA_FFI_OPS_DEFINE_HANDLER(
    example_size_bytes, SizeBytes,
    .Arg<ffi::AnyBuffer>().Ret<ffi::BufferR0<ffi::S64>>());

#define NEGATE(name, dtype)                 \
  XLA_FFI_OPS_DEFINE_HANDLER(               \
      example_negate_##name, Negate<dtype>, \
      .Arg<ffi::Buffer<dtype>>().Ret<ffi::Buffer<dtype>>())
NEGATE(int8, ffi::S8);
NEGATE(int32, ffi::S32);
NEGATE(int64, ffi::S64);
NEGATE(float16, ffi::F16);
NEGATE(bfloat16, ffi::BF16);
NEGATE(float32, ffi::F32);
NEGATE(float64, ffi::F64);
NEGATE(complex64, ffi::C64);
NEGATE(complex128, ffi::C128);
