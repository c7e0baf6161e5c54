// SPDX-License-Identifier: Apache-2.0
// The CUDA kernels of rms_norm compute its formulas.
#include <cstdint>

#include "tests/cuda/emulator/row_kernels.h"
#include "xla_ffi_ops/ops/rms_norm/rms_norm.h"

namespace xla_ffi_ops::rms_norm {
namespace {

struct KernelsTest {
  template <typename T, typename W>
  static void Run(const Case& c) {
    using Acc = Accumulator<T>;
    Input<T> x(c), dy(c);
    Shared<W> scale(c, 0);
    Output<T> y(c), dx(c);
    Residual<Acc> rstd(c);
    const double magnitude = 12 * scale.value.largest();
    RunFormula(kDevice, ForwardFormula<Acc>{Acc(kEps), rstd.data()}, AllRows(c),
               RowArrays<ForwardFormula<Acc>, T, W>{
                   {x.rows()}, {scale.rows()}, {y.data()}},
               {});
    RunExactly(ForwardFormula<double>{kEps, rstd.exact()}, c,
               {{x.exact_rows()}, {scale.exact()}, {y.exact()}}, {});
    rstd.Compare("rstd", 2, c.Depth());
    y.Compare("y", magnitude, c.Depth());
    if (c.cols == 0) return;
    RunFormula(kDevice, BackwardFormula<Acc>{rstd.rows()}, Groups(c),
               RowArrays<BackwardFormula<Acc>, T, W>{
                   {x.rows(), dy.rows()}, {scale.rows()}, {dx.data()}},
               {scale.sums()});
    RunExactly(
        BackwardFormula<double>{rstd.exact_rows()}, c,
        {{x.exact_rows(), dy.exact_rows()}, {scale.exact()}, {dx.exact()}},
        {scale.gradient.exact()});
    dx.Compare("dx", magnitude * dy.largest(), c.Depth());
    scale.Compare("dscale", magnitude * dy.largest(), c.rows);
  }
};

}  // namespace
}  // namespace xla_ffi_ops::rms_norm

int main() {
  return xla_ffi_ops::TestWeightedKernels<xla_ffi_ops::rms_norm::KernelsTest>();
}
