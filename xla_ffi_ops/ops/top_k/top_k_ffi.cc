// SPDX-License-Identifier: Apache-2.0
// The k largest elements, or all if there are fewer, and where they are:
// (n)->(m),(m).
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <variant>

#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/ops/top_k/top_k.h"
#include "xla_ffi_ops/sorting/along_axis.h"

namespace xla_ffi_ops::top_k {
namespace {

// A longer row is split into parts of so many elements, which threads share,
// unless more than an eighth of a part is wanted.
constexpr int64_t kPart = 1 << 17;

template <typename Key>
struct TopRows {
  Rows<const Key> x;
  int64_t k;
  SignedKeys<Key> format;
  Key* values;
  int32_t* indices;

  // Writes the k largest of `count` that are sorted here.
  void Write(int64_t row, Packed<Key>* found, int64_t count) const {
    std::nth_element(found, found + k - 1, found + count, std::greater<>());
    std::sort(found, found + k, std::greater<>());
    for (int64_t i = 0; i < k; ++i) {
      values[row * k + i] = format.Decode(KeyOf<Key>(found[i]));
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
HandlerResult Find(const CpuContext& device, int64_t rows, TopRows<Key> top) {
  const int64_t n = top.x.cols;
  const int64_t k = top.k;
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
      Select(Part<Key>{top.x[row], first, std::min(first + part, n), k,
                       top.format, keys.get(), indices.get()},
             found);
      if (!is_split) top.Write(row, found, k);
    }
  };
  const auto merge = [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (i % parts != 0) continue;
      // Only the last part may have fewer than k.
      const int64_t last = std::min(k, n - (parts - 1) * part);
      top.Write(i / parts, all.get() + i * k, (parts - 1) * k + last);
    }
  };
  return ParallelPhases(device.pool, is_split ? 2 : 1, rows * parts,
                        Grain(2 * part * static_cast<int64_t>(sizeof(Key))),
                        [=](int64_t phase, int64_t begin, int64_t end) {
                          phase == 0 ? select(begin, end) : merge(begin, end);
                        });
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
  // XLA converts bfloat16, which leaves one NaN of each sign.
  const AnyFormat any = FormatOf(x.element_type(), /*one_nan=*/true);
  return std::visit(
      [&](const auto& format) {
        using Key = std::make_signed_t<decltype(format.sign)>;
        return Find(device, rows,
                    TopRows<Key>{Rows<const Key>{Data<const Key>(x), n, map}, k,
                                 SignedKeys<Key>(format, equal_nans),
                                 Data<Key>(*values), Data<int32_t>(*indices)});
      },
      any);
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_top_k_fwd, TopKHandler,
                           .Attr<bool>("equal_nans")
                               .Attr<int64_t>("k")
                               .Arg<ffi::AnyBuffer>()    // x
                               .Ret<ffi::AnyBuffer>()    // values
                               .Ret<ffi::AnyBuffer>());  // indices

}  // namespace xla_ffi_ops::top_k
