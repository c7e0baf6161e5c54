// SPDX-License-Identifier: Apache-2.0
// Counts numbers, (n),(e)->(bins): y[b] = how many of x are in the b-th of as
// many equal parts of the range from the first of the edges to the last.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "xla_ffi_ops/ffi.h"

namespace xla_ffi_ops {
namespace {

HandlerResult Histogram(CpuContext, int64_t bins, ffi::AnyBuffer x,
                        ffi::AnyBuffer edges, ffi::Result<ffi::AnyBuffer> y) {
  Dim n = kUnknownDim, e = kUnknownDim;
  Checks checks;
  checks.Operand("x", x, ffi::F32, {&n});
  checks.Operand("edges", edges, ffi::F32, {&e});
  if (e < 1) checks.Fail("edges", "have an element", "none");
  if (bins < 0) checks.Fail("bins", "be at least 0", std::to_string(bins));
  const RowMap x_map = checks.Map("x", x, 1);
  const RowMap edges_map = checks.Map("edges", edges, 1);
  checks.Result("y", *y, ffi::S32, {&bins});
  if (!checks.ok()) return checks.error();

  const Rows<const float> x_rows{Data<const float>(x), n, x_map};
  const Rows<const float> edge_rows{Data<const float>(edges), e, edges_map};
  int32_t* out = Data<int32_t>(*y);
  std::fill_n(out, y->element_count(), 0);
  for (int64_t row = 0; row < Product(checks.loops()); ++row, out += bins) {
    const float low = edge_rows[row][0], high = edge_rows[row][e - 1];
    for (int64_t i = 0; i < n; ++i) {
      const float part = (x_rows[row][i] - low) / (high - low);
      const float bin = std::floor(part * static_cast<float>(bins));
      if (bin >= 0 && bin < static_cast<float>(bins)) {
        ++out[static_cast<int64_t>(bin)];
      }
    }
  }
  return ffi::Error::Success();
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(test_histogram_fwd, Histogram,
                           .Attr<int64_t>("bins")
                               .Arg<ffi::AnyBuffer>()    // x
                               .Arg<ffi::AnyBuffer>()    // edges
                               .Ret<ffi::AnyBuffer>());  // y

}  // namespace xla_ffi_ops
