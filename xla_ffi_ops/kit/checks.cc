// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/kit/checks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace xla_ffi_ops {
namespace {

std::string Got(const xla::ffi::AnyBuffer& buffer) {
  return "shape " + ToString(buffer.dimensions());
}

}  // namespace

int64_t Product(Shape shape) {
  int64_t product = 1;
  for (const int64_t size : shape) product *= size;
  return product;
}

std::string ToString(Shape shape) {
  std::string text = "[";
  for (const int64_t size : shape) {
    text += text.size() > 1 ? ", " : "";
    text += size == kUnknownDim ? "?" : std::to_string(size);
  }
  return text + "]";
}

void Checks::Fail(const char* name, const std::string& expected,
                  const std::string& got) {
  if (!ok()) return;
  error_ = xla::ffi::Error::InvalidArgument(name + (" must " + expected) +
                                            ", got " + got);
}

void Checks::CheckDType(const char* name, const xla::ffi::AnyBuffer& buffer,
                        DTypeSet expected) {
  if (expected.Contains(buffer.element_type())) return;
  Fail(name, "have dtype " + Name(expected), Name(buffer.element_type()));
}

Shape Checks::CheckCore(const char* name, const xla::ffi::AnyBuffer& buffer,
                        std::initializer_list<Dim*> core) {
  const Shape shape = buffer.dimensions();
  if (shape.size() < core.size()) {
    Fail(name, "have rank " + std::to_string(core.size()) + " or more",
         Got(buffer));
    return Shape();
  }
  size_t axis = shape.size() - core.size();
  for (Dim* dim : core) {
    if (*dim == kUnknownDim) *dim = shape[axis];
    if (*dim != shape[axis]) {
      Fail(name,
           "have size " + std::to_string(*dim) + " in dimension " +
               std::to_string(axis),
           Got(buffer));
    }
    ++axis;
  }
  return shape.first(shape.size() - core.size());
}

void Checks::Broadcast(const char* name, const xla::ffi::AnyBuffer& buffer,
                       Shape own, bool shared) {
  if (own.size() == 0) return;
  if (loops_.empty()) loops_.assign(own.size(), 1);
  bool holds =
      shared ? own.size() <= loops_.size() : own.size() == loops_.size();
  for (size_t d = 0; holds && d < own.size(); ++d) {
    holds = own[d] == loops_[d] || own[d] == 1 || loops_[d] == 1;
  }
  if (!holds) {
    return Fail(
        name, "have leading dimensions that broadcast with " + ToString(loops_),
        Got(buffer));
  }
  for (size_t d = 0; d < own.size(); ++d) {
    if (loops_[d] == 1) loops_[d] = own[d];
  }
}

void Checks::Operand(const char* name, const xla::ffi::AnyBuffer& buffer,
                     DTypeSet expected, std::initializer_list<Dim*> core) {
  CheckDType(name, buffer, expected);
  Broadcast(name, buffer, CheckCore(name, buffer, core), /*shared=*/false);
}

bool Checks::SharedOperand(const char* name, const xla::ffi::AnyBuffer& buffer,
                           DTypeSet expected, std::initializer_list<Dim*> core,
                           int64_t loop_rank) {
  CheckDType(name, buffer, expected);
  const Shape own = CheckCore(name, buffer, core);
  const bool shared =
      own.size() == 0 || static_cast<int64_t>(own.size()) == loop_rank;
  Broadcast(name, buffer, own, shared);
  return shared;
}

void Checks::Result(const char* name, const xla::ffi::AnyBuffer& buffer,
                    DTypeSet expected, std::initializer_list<Dim*> core,
                    int64_t loop_rank) {
  if (!ok()) return;
  CheckDType(name, buffer, expected);
  const Shape got = buffer.dimensions();
  std::vector<int64_t> shape(loops_.begin(), loops_.begin() + loop_rank);
  const bool has_rank = got.size() == shape.size() + core.size();
  for (Dim* dim : core) {
    if (*dim == kUnknownDim && has_rank) *dim = got[shape.size()];
    shape.push_back(*dim);
  }
  if (!(got == Shape(shape))) {
    Fail(name, "have shape " + ToString(shape), ToString(got));
  }
}

RowMap Checks::Map(const char* name, const xla::ffi::AnyBuffer& buffer,
                   int64_t core_rank) {
  if (!ok()) return RowMap();
  const Shape shape = buffer.dimensions();
  const Shape own = shape.first(shape.size() - core_rank);
  RowMap map;
  map.dims = 0;
  int64_t rows = 1;  // of the operand, in the dimensions after this one
  for (size_t d = loops_.size(); d-- > 0;) {
    if (loops_[d] == 1) continue;
    const int64_t size = d < own.size() ? own[d] : 1;
    const int64_t stride = size == 1 ? 0 : rows;
    rows *= size;
    const int last = map.dims - 1;
    if (last >= 0 && (stride == 0) == (map.stride[last] == 0)) {
      map.size[last] *= loops_[d];
    } else if (map.dims < RowMap::kMaxDims) {
      map.size[map.dims] = loops_[d];
      map.stride[map.dims++] = stride;
    } else {
      Fail(name, "be broadcast along fewer separate dimensions", Got(buffer));
    }
  }
  if (map.dims == 0) return RowMap();
  std::reverse(map.size, map.size + map.dims);
  std::reverse(map.stride, map.stride + map.dims);
  return map;
}

}  // namespace xla_ffi_ops
