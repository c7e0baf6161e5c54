// SPDX-License-Identifier: Apache-2.0
// The CUDA kernels of add_rms_norm compute its formulas.
#include <cstdint>

#include "tests/cuda/emulator/row_kernels.h"
#include "xla_ffi_ops/ops/add_rms_norm/add_rms_norm.h"

namespace xla_ffi_ops::add_rms_norm {
namespace {

struct KernelsTest {
  template <typename T, typename W>
  static void Run(const Case& c) {
    using Acc = Accumulator<T>;
    Input<T> x(c), residual(c), dy(c), dsum(c);
    Shared<W> scale(c, 0);
    Output<T> y(c), sum(c), dx(c), dresidual(c);
    Residual<Acc> rstd(c);
    const double magnitude = 24 * scale.value.largest();
    RunFormula(kDevice, ForwardFormula<T>{{Acc(kEps), rstd.data()}}, AllRows(c),
               RowArrays<ForwardFormula<T>, T, W>{{x.rows(), residual.rows()},
                                                  {scale.rows()},
                                                  {y.data(), sum.data()}},
               {});
    RunExactly(ForwardFormula<T, double>{{kEps, rstd.exact()}}, c,
               {{x.exact_rows(), residual.exact_rows()},
                {scale.exact()},
                {y.exact(), sum.exact()}},
               {});
    rstd.Compare("rstd", 2, c.Depth());
    y.Compare("y", magnitude, c.Depth());
    sum.Compare("sum", x.largest() + residual.largest(), 0);
    if (c.cols == 0) return;
    RunFormula(kDevice, BackwardFormula<Acc>{{rstd.rows()}}, Groups(c),
               RowArrays<BackwardFormula<Acc>, T, W>{
                   {sum.rows(), dy.rows(), dsum.rows()},
                   {scale.rows()},
                   {dx.data(), dresidual.data()}},
               {scale.sums()});
    RunExactly(BackwardFormula<double>{{rstd.exact_rows()}}, c,
               {{sum.exact_rows(), dy.exact_rows(), dsum.exact_rows()},
                {scale.exact()},
                {dx.exact(), dresidual.exact()}},
               {scale.gradient.exact()});
    dx.Compare("dx", magnitude * dy.largest() + dsum.largest(), c.Depth());
    dresidual.Compare("dresidual", magnitude * dy.largest() + dsum.largest(),
                      c.Depth());
    scale.Compare("dscale", magnitude * dy.largest(), c.rows);
  }
};

}  // namespace
}  // namespace xla_ffi_ops::add_rms_norm

int main() {
  return xla_ffi_ops::TestWeightedKernels<
      xla_ffi_ops::add_rms_norm::KernelsTest>();
}
