// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/checks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace xla_ffi_ops {

Shape ShapeOf(const xla::ffi::AnyBuffer& buffer) {
  return Shape(buffer.dimensions().begin(), buffer.dimensions().end());
}

int64_t Product(const Shape& shape) {
  int64_t product = 1;
  for (const int64_t size : shape) product *= size;
  return product;
}

std::string ToString(const Shape& shape) {
  std::string text = "[";
  for (const int64_t size : shape) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  }
  return text + "]";
}

void Checks::That(bool holds, const char* name, const std::string& expected,
                  const std::string& got) {
  if (holds || error_) return;
  error_ = xla::ffi::Error::InvalidArgument(op_ + ": " + name + " must " +
                                            expected + ", got " + got);
}

void Checks::Join(const char* name, const Shape& shape,
                  std::initializer_list<Dim*> core) {
  const auto fail = [&](const std::string& expected) {
    That(false, name, expected, "shape " + ToString(shape));
  };
  if (shape.size() < core.size()) {
    return fail("have rank " + std::to_string(core.size()) + " or more");
  }
  const size_t own_loops = shape.size() - core.size();
  size_t axis = own_loops;
  for (Dim* dim : core) {
    if (*dim == kUnknownDim) *dim = shape[axis];
    if (shape[axis++] != *dim) {
      return fail("have size " + std::to_string(*dim) + " in dimension " +
                  std::to_string(axis - 1));
    }
  }
  if (own_loops == 0) return;
  if (loops_.empty()) loops_.assign(own_loops, 1);
  const Shape expected = loops_;
  for (size_t d = 0; d < own_loops && own_loops == loops_.size(); ++d) {
    if (loops_[d] == 1) loops_[d] = shape[d];
  }
  bool holds = own_loops == loops_.size();
  for (size_t d = 0; holds && d < own_loops; ++d) {
    holds = shape[d] == loops_[d] || shape[d] == 1;
  }
  if (!holds) {
    fail("have leading dimensions that broadcast with " + ToString(expected));
  }
}

void Checks::HasDType(const char* name, const xla::ffi::AnyBuffer& buffer,
                      DTypeSet expected) {
  if (expected.Contains(buffer.element_type())) return;
  That(false, name, "have dtype " + Name(expected),
       Name(buffer.element_type()));
}

void Checks::Operand(const char* name, const xla::ffi::AnyBuffer& buffer,
                     DTypeSet expected, std::initializer_list<Dim*> core) {
  HasDType(name, buffer, expected);
  Join(name, ShapeOf(buffer), core);
}

bool Checks::SharedOperand(const char* name, const xla::ffi::AnyBuffer& buffer,
                           DTypeSet expected,
                           std::initializer_list<Dim*> core,
                           int64_t loop_rank) {
  HasDType(name, buffer, expected);
  Shape shape = ShapeOf(buffer);
  const auto own = static_cast<int64_t>(shape.size() - core.size());
  const bool shared = own == 0 || own == loop_rank;
  if (shared) {
    const size_t rank = std::max(loops_.size() + core.size(), shape.size());
    shape.insert(shape.begin() + own, rank - shape.size(), 1);
  }
  Join(name, shape, core);
  return shared;
}

void Checks::Result(const char* name, const xla::ffi::AnyBuffer& buffer,
                    DTypeSet expected, std::initializer_list<Dim*> core,
                    int64_t loop_rank) {
  if (!ok()) return;
  HasDType(name, buffer, expected);
  Shape shape(loops_.begin(), loops_.begin() + loop_rank);
  for (const Dim* dim : core) shape.push_back(*dim);
  if (ShapeOf(buffer) != shape) {
    That(false, name, "have shape " + ToString(shape),
         ToString(ShapeOf(buffer)));
  }
}

RowMap Checks::Map(const char* name, const xla::ffi::AnyBuffer& buffer,
                   int64_t core_rank) {
  RowMap map;
  if (!ok()) return map;
  Shape own = ShapeOf(buffer);
  own.resize(own.size() - core_rank);
  own.resize(loops_.size(), 1);
  map.dims = 0;
  int64_t rows = 1;
  for (size_t d = loops_.size(); d-- > 0;) {
    if (loops_[d] == 1) continue;
    const int64_t stride = own[d] == 1 ? 0 : rows;
    rows *= own[d];
    const int last = map.dims - 1;
    if (last >= 0 && (stride == 0) == (map.stride[last] == 0)) {
      map.size[last] *= loops_[d];
    } else if (map.dims < RowMap::kMaxDims) {
      map.size[map.dims] = loops_[d];
      map.stride[map.dims++] = stride;
    } else {
      That(false, name, "be broadcast along fewer separate dimensions",
           "shape " + ToString(ShapeOf(buffer)));
    }
  }
  if (map.dims == 0) return RowMap();
  std::reverse(map.size, map.size + map.dims);
  std::reverse(map.stride, map.stride + map.dims);
  return map;
}

}  // namespace xla_ffi_ops
