// SPDX-License-Identifier: Apache-2.0
// The k largest elements, or all if there are fewer, and where they are:
// (n)->(m),(m).
#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>

#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/ops/top_k/top_k.h"

namespace xla_ffi_ops::top_k {
namespace {

// A longer row is split into parts of so many elements, of which a thread takes
// each, unless too many of each part are wanted.
constexpr int64_t kPart = 1 << 17;

template <typename Key>
struct Call {
  Rows<const Key> x;
  int64_t k;
  Order<Key> order;
  Key* values;
  int32_t* indices;

  // Writes the k largest of `count` that are sorted here.
  void Write(int64_t row, Packed<Key>* found, int64_t count) const {
    std::nth_element(found, found + k - 1, found + count, std::greater<>());
    std::sort(found, found + k, std::greater<>());
    for (int64_t i = 0; i < k; ++i) {
      values[row * k + i] = order.Decode(KeyOf<Key>(found[i]));
      indices[row * k + i] = IndexOf(found[i]);
    }
  }
};

// Its elements are written before they are read.
template <typename T>
std::unique_ptr<T[]> Memory(int64_t size) {
  return std::unique_ptr<T[]>(new T[size]);
}

template <typename Key>
HandlerResult Run(const CpuContext& device, int64_t rows, Call<Key> call) {
  const int64_t n = call.x.cols;
  const int64_t k = call.k;
  const int64_t part = k <= kPart / 8 ? std::min(n, kPart) : n;
  const int64_t parts = (n + part - 1) / part;
  const bool is_split = parts > 1;
  const std::shared_ptr<Packed<Key>[]> all =
      Memory<Packed<Key>>(is_split ? rows * parts * k : 0);
  const auto select = [=](int64_t begin, int64_t end) {
    const auto keys = Memory<Key>(part);
    const auto indices = Memory<int32_t>(part);
    const auto own = Memory<Packed<Key>>(is_split ? 0 : k);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i / parts;
      const int64_t first = i % parts * part;
      Packed<Key>* const found = is_split ? all.get() + i * k : own.get();
      Select(Part<Key>{call.x[row], first, std::min(first + part, n), k,
                       call.order, keys.get(), indices.get()},
             found);
      if (!is_split) call.Write(row, found, k);
    }
  };
  const auto merge = [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (i % parts != 0) continue;
      // Only the last part may have fewer than k.
      const int64_t last = std::min(k, n - (parts - 1) * part);
      call.Write(i / parts, all.get() + i * k, (parts - 1) * k + last);
    }
  };
  return ParallelPhases(device.pool, is_split ? 2 : 1, rows * parts,
                        Grain(2 * part * static_cast<int64_t>(sizeof(Key))),
                        [=](int64_t phase, int64_t begin, int64_t end) {
                          phase == 0 ? select(begin, end) : merge(begin, end);
                        });
}

// The order of a dtype whose elements have the size of Key.
template <typename Key>
Order<Key> OrderOf(ffi::DataType dtype, bool equal_nans) {
  constexpr Key kMin = std::numeric_limits<Key>::min();
  constexpr Key kMax = std::numeric_limits<Key>::max();
  Order<Key> order;
  switch (dtype) {
    case ffi::BF16:  // XLA converts it, which leaves one NaN of each sign.
      order.infinity = static_cast<Key>(0x7f80);
      if (equal_nans) order.equal_above = order.infinity;
      order.nan = static_cast<Key>(0x7fc0);
      [[fallthrough]];
    case ffi::F16:
    case ffi::F32:
    case ffi::F64:
      order.negative = kMax;
      break;
    case ffi::U8:
    case ffi::U16:
    case ffi::U32:
    case ffi::U64:
      order.all = kMin;
      break;
    default:
      break;
  }
  return order;
}

HandlerResult TopKHandler(CpuContext device, bool equal_nans, int64_t k,
                          ffi::AnyBuffer x, ffi::Result<ffi::AnyBuffer> values,
                          ffi::Result<ffi::AnyBuffer> indices) {
  Dim n = kUnknownDim;
  Checks checks;
  checks.Operand("x", x, OrderedDTypes(), {&n});
  checks.IndicesFit("x", n);
  if (k < 0) checks.Fail("k", "be at least 0", std::to_string(k));
  const RowMap map = checks.Map("x", x, 1);
  k = std::min(k, n);
  checks.Result("values", *values, x.element_type(), {&k});
  checks.Result("indices", *indices, ffi::S32, {&k});
  const int64_t rows = Product(checks.loops());
  if (!checks.ok() || rows == 0 || k == 0) return checks.error();
  const auto run = [&](auto tag) {
    using Key = TypeOf<decltype(tag)>;
    return Run(device, rows,
               Call<Key>{Rows<const Key>{Data<const Key>(x), n, map}, k,
                         OrderOf<Key>(x.element_type(), equal_nans),
                         Data<Key>(*values), Data<int32_t>(*indices)});
  };
  switch (BitWidth(x.element_type())) {
    case 8:
      return run(TypeTag<int8_t>());
    case 16:
      return run(TypeTag<int16_t>());
    case 32:
      return run(TypeTag<int32_t>());
    default:
      return run(TypeTag<int64_t>());
  }
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_top_k_fwd, TopKHandler,
                           .Attr<bool>("equal_nans")
                               .Attr<int64_t>("k")
                               .Arg<ffi::AnyBuffer>()    // x
                               .Ret<ffi::AnyBuffer>()    // values
                               .Ret<ffi::AnyBuffer>());  // indices

}  // namespace xla_ffi_ops::top_k
