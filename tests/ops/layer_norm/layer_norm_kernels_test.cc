// SPDX-License-Identifier: Apache-2.0
// The CUDA kernels of layer_norm compute its formulas.
#include <cstdint>

#include "tests/cuda/emulator/row_kernels.h"
#include "xla_ffi_ops/ops/layer_norm/layer_norm.h"

namespace xla_ffi_ops::layer_norm {
namespace {

struct KernelsTest {
  template <typename T, typename W>
  static void Run(const Case& c) {
    using Acc = Accumulator<T>;
    Input<T> x(c), dy(c);
    Shared<W> scale(c, 0), bias(c, 1);
    Output<T> y(c), dx(c);
    Residual<Acc> mean(c), rstd(c);
    const double magnitude = 24 * scale.value.largest();
    RunFormula(kDevice,
               ForwardFormula<Acc>{Acc(kEps), mean.data(), rstd.data()},
               AllRows(c),
               RowArrays<ForwardFormula<Acc>, T, W>{
                   {x.rows()}, {scale.rows(), bias.rows()}, {y.data()}},
               {});
    RunExactly(ForwardFormula<double>{kEps, mean.exact(), rstd.exact()}, c,
               {{x.exact_rows()}, {scale.exact(), bias.exact()}, {y.exact()}},
               {});
    mean.Compare("mean", x.largest(), c.Depth());
    rstd.Compare("rstd", 2, c.Depth());
    y.Compare("y", magnitude, c.Depth());
    if (c.cols == 0) return;
    RunFormula(kDevice, BackwardFormula<Acc>{mean.rows(), rstd.rows()},
               Groups(c),
               RowArrays<BackwardFormula<Acc>, T, W>{
                   {x.rows(), dy.rows()}, {scale.rows()}, {dx.data()}},
               {scale.sums(), bias.sums()});
    RunExactly(
        BackwardFormula<double>{mean.exact_rows(), rstd.exact_rows()}, c,
        {{x.exact_rows(), dy.exact_rows()}, {scale.exact()}, {dx.exact()}},
        {scale.gradient.exact(), bias.gradient.exact()});
    dx.Compare("dx", magnitude * dy.largest(), c.Depth());
    scale.Compare("dscale", magnitude * dy.largest(), c.rows);
    bias.Compare("dbias", dy.largest(), c.rows);
  }
};

}  // namespace
}  // namespace xla_ffi_ops::layer_norm

int main() {
  return xla_ffi_ops::TestWeightedKernels<
      xla_ffi_ops::layer_norm::KernelsTest>();
}
