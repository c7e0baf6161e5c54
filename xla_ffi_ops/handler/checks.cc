// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/handler/checks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

namespace xla_ffi_ops {
namespace {

std::string Got(const xla::ffi::AnyBuffer& buffer) {
  return "shape " + ToString(buffer.dimensions());
}

}  // namespace

int64_t Product(Shape shape) {
  int64_t product = 1;
  bool too_large = false;
  for (const int64_t size : shape) {
    if (size == 0) return 0;
    too_large |= __builtin_mul_overflow(product, size, &product);
  }
  return too_large ? std::numeric_limits<int64_t>::max() : product;
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

void Checks::AtLeast(const char* name, double value, double minimum) {
  if (value >= minimum) return;
  std::ostringstream expected, got;
  expected << "be at least " << minimum;
  got << value;
  Fail(name, expected.str(), got.str());
}

void Checks::IndicesFit(const char* name, Dim n) {
  if (n <= int64_t{1} << 31) return;
  Fail(name, "have indices that fit into int32", std::to_string(n));
}

void Checks::TrailingRank(int64_t trailing_rank) {
  // What is no rank at all then does no harm.
  trailing_rank_ = std::max<int64_t>(0, trailing_rank);
  if (trailing_rank >= 0) return;
  Fail("trailing_rank", "be at least 0", std::to_string(trailing_rank));
}

void Checks::BatchRank(int64_t batch_rank) {
  const auto rank = static_cast<int64_t>(loops().size());
  if (batch_rank >= 0 && batch_rank <= rank) return;
  Fail("batch_rank",
       "be at least 0 and at most " + std::to_string(rank) +
           ", the number of leading dimensions",
       std::to_string(batch_rank));
}

void Checks::CheckDType(const char* name, const xla::ffi::AnyBuffer& buffer,
                        DTypeSet expected) {
  if (expected.Contains(buffer.element_type())) return;
  Fail(name, "have dtype " + Name(expected), Name(buffer.element_type()));
}

void Checks::CheckCore(const char* name, const xla::ffi::AnyBuffer& buffer,
                       CoreDims core, size_t begin) {
  for (Dim* dim : core) {
    const int64_t size = buffer.dimensions()[begin];
    if (*dim == kUnknownDim) *dim = size;
    if (*dim != size) {
      Fail(name,
           "have size " + std::to_string(*dim) + " in dimension " +
               std::to_string(begin),
           Got(buffer));
    }
    ++begin;
  }
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
    const std::string which = trailing_rank_ > 0 ? "and trailing " : "";
    return Fail(name,
                "have leading " + which + "dimensions that broadcast with " +
                    ToString(loops_),
                Got(buffer));
  }
  for (size_t d = 0; d < own.size(); ++d) {
    if (loops_[d] == 1) loops_[d] = own[d];
  }
}

void Checks::Operand(const char* name, const xla::ffi::AnyBuffer& buffer,
                     DTypeSet expected, CoreDims core) {
  CheckDType(name, buffer, expected);
  const Shape shape = buffer.dimensions();
  const auto core_rank = static_cast<int64_t>(core.size());
  const int64_t loop_rank = static_cast<int64_t>(shape.size()) - core_rank;
  const int64_t trailing_rank = loop_rank == 0 ? 0 : trailing_rank_;
  if (loop_rank < trailing_rank) {
    const int64_t least = core_rank + (loop_rank < 0 ? 0 : trailing_rank);
    return Fail(name, "have rank " + std::to_string(least) + " or more",
                Got(buffer));
  }
  const int64_t leading_rank = loop_rank - trailing_rank;
  CheckCore(name, buffer, core, leading_rank);
  std::vector<int64_t> own(shape.begin(), shape.end());
  own.erase(own.begin() + leading_rank, own.end() - trailing_rank);
  Broadcast(name, buffer, own, /*shared=*/false);
}

bool Checks::SharedOperand(const char* name, const xla::ffi::AnyBuffer& buffer,
                           DTypeSet expected, CoreDims core,
                           int64_t loop_rank) {
  const Shape shape = buffer.dimensions();
  const int64_t own_rank = static_cast<int64_t>(shape.size()) - core.size();
  if (own_rank < 0 || (own_rank > 0 && own_rank != loop_rank)) {
    Operand(name, buffer, expected, core);
    return false;
  }
  CheckDType(name, buffer, expected);
  CheckCore(name, buffer, core, own_rank);
  Broadcast(name, buffer, shape.first(own_rank), /*shared=*/true);
  return true;
}

void Checks::ResultOf(const char* name, const xla::ffi::AnyBuffer& buffer,
                      DTypeSet expected, Shape leading, CoreDims core,
                      Shape trailing) {
  if (!ok()) return;
  CheckDType(name, buffer, expected);
  const Shape got = buffer.dimensions();
  std::vector<int64_t> shape(leading.begin(), leading.end());
  const bool has_rank =
      got.size() == leading.size() + core.size() + trailing.size();
  for (Dim* dim : core) {
    if (*dim == kUnknownDim && has_rank) *dim = got[shape.size()];
    shape.push_back(*dim);
  }
  shape.insert(shape.end(), trailing.begin(), trailing.end());
  if (!(got == Shape(shape))) {
    Fail(name, "have shape " + ToString(shape), ToString(got));
  }
}

RowMap Checks::Map(const char* name, const xla::ffi::AnyBuffer& buffer,
                   int64_t core_rank) {
  if (!ok()) return RowMap();
  const Shape shape = buffer.dimensions();
  const int64_t rank = shape.size() - core_rank;
  return MapLoops(name, buffer, loops(),
                  shape.first(rank - Trailing(buffer, core_rank).size()));
}

RowMap Checks::TrailingMap(const char* name, const xla::ffi::AnyBuffer& buffer,
                           int64_t core_rank) {
  if (!ok()) return RowMap();
  return MapLoops(name, buffer, trailing(), Trailing(buffer, core_rank));
}

Shape Checks::Trailing(const xla::ffi::AnyBuffer& buffer,
                       int64_t core_rank) const {
  const Shape shape = buffer.dimensions();
  const bool has_all = shape.size() - core_rank == loops_.size();
  return has_all ? shape.last(trailing().size()) : Shape();
}

RowMap Checks::MapLoops(const char* name, const xla::ffi::AnyBuffer& buffer,
                        Shape loops, Shape own) {
  const int64_t all = Product(loops);
  if (all == 0) return RowMap();
  if (all == std::numeric_limits<int64_t>::max()) {
    Fail(name, "have leading dimensions of fewer indices", Got(buffer));
    return RowMap();
  }
  RowMap map;
  map.dims = 0;
  int64_t rows = 1;  // of the operand, in the dimensions after this one
  for (size_t d = loops.size(); d-- > 0;) {
    if (loops[d] == 1) continue;
    const int64_t size = d < own.size() ? own[d] : 1;
    const int64_t stride = size == 1 ? 0 : rows;
    rows *= size;
    const int last = map.dims - 1;
    if (last >= 0 && (stride == 0) == (map.stride[last] == 0)) {
      map.size[last] *= loops[d];
    } else if (map.dims < RowMap::kMaxDims) {
      map.size[map.dims] = loops[d];
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
