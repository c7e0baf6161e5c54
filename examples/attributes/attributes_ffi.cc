// SPDX-License-Identifier: Apache-2.0
// Handlers that write their attributes as text, so that a test can read what
// arrived.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>

#include "xla_ffi_ops/ffi.h"

namespace attributes {

namespace ffi = xla::ffi;

// An attribute that is one of a few integers.
enum class Border : int32_t { kZeros = 0, kWrap = 1 };

// A dictionary of exactly these attributes.
struct Window {
  int64_t size;
  double scale;
  Border border;
};

}  // namespace attributes

XLA_FFI_REGISTER_ENUM_ATTR_DECODING(attributes::Border);
XLA_FFI_REGISTER_STRUCT_ATTR_DECODING(
    attributes::Window, StructMember<int64_t>("size"),
    StructMember<double>("scale"), StructMember<attributes::Border>("border"));

namespace attributes {
namespace {

using Text = ffi::ResultBufferR1<ffi::U8>;

ffi::Error Write(const std::ostringstream& from, Text text) {
  const std::string written = from.str();
  const size_t size = text->element_count();
  if (written.size() > size) {
    return ffi::Error::InvalidArgument(
        "text must have " + std::to_string(written.size()) +
        " elements or more, got " + std::to_string(size));
  }
  uint8_t* const end =
      std::copy(written.begin(), written.end(), text->typed_data());
  std::fill(end, text->typed_data() + size, uint8_t{' '});
  return ffi::Error::Success();
}

// Unary +, since a stream writes integers of 8 bits as characters.
ffi::Error Scalars(xla_ffi_ops::CpuContext, bool flag, int8_t i8, int16_t i16,
                   int32_t i32, int64_t i64, uint8_t u8, uint16_t u16,
                   uint32_t u32, uint64_t u64, float f32, double f64,
                   std::string_view name, Text text) {
  std::ostringstream out;
  out.precision(std::numeric_limits<double>::max_digits10);
  out << flag << ' ' << +i8 << ' ' << i16 << ' ' << i32 << ' ' << i64 << ' '
      << +u8 << ' ' << u16 << ' ' << u32 << ' ' << u64 << ' ' << f32 << ' '
      << f64 << ' ' << name;
  return Write(out, text);
}

ffi::Error Arrays(xla_ffi_ops::CpuContext, ffi::Span<const int32_t> integers,
                  ffi::Span<const double> numbers, Text text) {
  std::ostringstream out;
  for (const int32_t x : integers) out << x << ' ';
  for (const double x : numbers) out << x << ' ';
  return Write(out, text);
}

// The struct's members are checked as attributes are.
ffi::Error Struct(xla_ffi_ops::CpuContext, Window window, Text text) {
  std::ostringstream out;
  switch (window.border) {  // Any integer arrives here.
    case Border::kZeros:
      out << "zeros";
      break;
    case Border::kWrap:
      out << "wrap";
      break;
    default:
      return ffi::Error::InvalidArgument(
          "window.border must be 0 or 1, got " +
          std::to_string(static_cast<int32_t>(window.border)));
  }
  out << ' ' << window.size << ' ' << window.scale;
  return Write(out, text);
}

// With all attributes as a dictionary, one may be absent, and the handler has
// to look for those that it does not know. One may be a dictionary, too.
ffi::Error Nested(xla_ffi_ops::CpuContext, ffi::Dictionary all, Text text) {
  const bool has_offset = all.contains("offset");
  if (all.size() != (has_offset ? 2 : 1)) {
    return ffi::Error::InvalidArgument(
        "attributes must be options and, if any, offset, got " +
        std::to_string(all.size()));
  }
  const auto options = all.get<ffi::Dictionary>("options");
  if (options.has_error()) return options.error();
  const auto deep = options->get<ffi::Dictionary>("deep");
  if (deep.has_error()) return deep.error();
  const auto count = deep->get<int64_t>("count");
  if (count.has_error()) return count.error();
  std::ostringstream out;
  out << *count;
  if (has_offset) {
    const auto offset = all.get<float>("offset");
    if (offset.has_error()) return offset.error();
    out << ' ' << *offset;
  }
  return Write(out, text);
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(example_scalars, Scalars,
                           .Attr<bool>("flag")
                               .Attr<int8_t>("i8")
                               .Attr<int16_t>("i16")
                               .Attr<int32_t>("i32")
                               .Attr<int64_t>("i64")
                               .Attr<uint8_t>("u8")
                               .Attr<uint16_t>("u16")
                               .Attr<uint32_t>("u32")
                               .Attr<uint64_t>("u64")
                               .Attr<float>("f32")
                               .Attr<double>("f64")
                               .Attr<std::string_view>("name")
                               .Ret<ffi::BufferR1<ffi::U8>>());  // text

XLA_FFI_OPS_DEFINE_HANDLER(example_arrays, Arrays,
                           .Attr<ffi::Span<const int32_t>>("integers")
                               .Attr<ffi::Span<const double>>("numbers")
                               .Ret<ffi::BufferR1<ffi::U8>>());  // text

XLA_FFI_OPS_DEFINE_HANDLER(
    example_struct, Struct,
    .Attr<Window>("window").Ret<ffi::BufferR1<ffi::U8>>());  // text

XLA_FFI_OPS_DEFINE_HANDLER(example_nested, Nested,
                           .Attrs().Ret<ffi::BufferR1<ffi::U8>>());  // text

}  // namespace attributes
