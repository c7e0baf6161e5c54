// SPDX-License-Identifier: Apache-2.0
// The CUDA kernels of softmax compute its formulas.
#include <cstdint>

#include "tests/cuda/emulator/row_kernels.h"
#include "xla_ffi_ops/ops/softmax/softmax.h"

namespace xla_ffi_ops::softmax {
namespace {

struct KernelsTest {
  template <typename T>
  static void Run(const Case& c) {
    using Acc = Accumulator<T>;
    Input<T> x(c), dy(c);
    Output<T> y(c), dx(c);
    RunFormula(kDevice, ForwardFormula<T>(), AllRows(c),
               RowArrays<ForwardFormula<T>, T, T>{{x.rows()}, {}, {y.data()}},
               {});
    RunExactly(ForwardFormula<T, double>(), c,
               {{x.exact_rows()}, {}, {y.exact()}}, {});
    y.Compare("y", 2 * x.largest(), c.Depth());
    if (c.cols == 0) return;
    RunFormula(kDevice, BackwardFormula<Acc>(), AllRows(c),
               RowArrays<BackwardFormula<Acc>, T, T>{
                   {x.rows(), dy.rows()}, {}, {dx.data()}},
               {});
    RunExactly(BackwardFormula<double>(), c,
               {{x.exact_rows(), dy.exact_rows()}, {}, {dx.exact()}}, {});
    dx.Compare("dx", x.largest() * x.largest() * c.cols * dy.largest(),
               c.Depth());
  }
};

}  // namespace
}  // namespace xla_ffi_ops::softmax

int main() {
  return xla_ffi_ops::TestKernels<xla_ffi_ops::softmax::KernelsTest>();
}
