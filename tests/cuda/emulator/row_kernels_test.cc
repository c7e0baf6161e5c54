// SPDX-License-Identifier: Apache-2.0
// The CUDA kernels of all ops compute what their formulas say, on emulated
// devices, with as many launches for aligned arrays as for others. What this
// cannot show, a GPU has to: PTX, and the device's memory model.
#include "tests/cuda/emulator/row_kernels.h"

#include "xla_ffi_ops/ops/add_rms_norm/add_rms_norm.h"
#include "xla_ffi_ops/ops/layer_norm/layer_norm.h"
#include "xla_ffi_ops/ops/rms_norm/rms_norm.h"
#include "xla_ffi_ops/ops/softmax/softmax.h"

namespace xla_ffi_ops {
namespace {

constexpr double kEps = 0.25;  // rstd is at most 2.
constexpr Cuda kDevice = {nullptr};
constexpr Operands<double*, 0> kNone = {};
constexpr Operands<Weight<double>, 0> kUnweighted = {};

// A weight that the rows of a group share, and the sums for its gradient.
template <typename W>
struct Shared {
  Shared(const Case& c, int index)
      : there(c.present >> index & 1),
        parts(c.parts),
        value(c, c.groups * c.rows, c.cols, true, std::max<int64_t>(1, c.rows)),
        memory(c, c.groups * c.parts, c.cols, false),
        gradient(c, c.groups, c.cols, false) {}

  Rows<const W> rows() const {
    return there ? value.rows() : Rows<const W>{nullptr, 0, {}};
  }
  Weight<double> exact(int absent) const {
    Weight<double> weight{value.exact_rows(), absent};
    if (!there) weight.rows.data = nullptr;
    return weight;
  }
  Workspace<W, Accumulator<W>> sums() {
    if (!there) return {};
    return {gradient.data(), memory.data(), parts};
  }
  void Compare(const std::string& name, double magnitude, int64_t rows) const {
    if (there) gradient.Compare(name, magnitude * rows, rows);
  }

  bool there;
  int64_t parts;
  Numbers<W> value;
  Numbers<Accumulator<W>> memory;
  Numbers<W> gradient;
};

// An input, an output, or what there is one of for each row.
template <typename T>
struct Input : Numbers<T> {
  explicit Input(const Case& c)
      : Numbers<T>(c, c.groups * c.rows, c.cols, true, 1 + c.shared) {}
};
template <typename T>
struct Output : Numbers<T> {
  explicit Output(const Case& c)
      : Numbers<T>(c, c.groups * c.rows, c.cols, false) {}
};
template <typename T>
struct Residual : Numbers<T> {
  explicit Residual(const Case& c)
      : Numbers<T>(c, c.groups * c.rows, 1, false) {}
};

template <typename T, typename W>
void TestRmsNorm(const Case& c) {
  using Acc = Accumulator<T>;
  const int64_t rows = c.groups * c.rows;
  Input<T> x(c), dy(c);
  Shared<W> scale(c, 0);
  Output<T> y(c), dx(c);
  Residual<Acc> rstd(c);
  const double magnitude = 12 * scale.value.largest();
  rms_norm::Forward<T, W>(kDevice, 0, rows, c.cols, Acc(kEps), x.rows(),
                          scale.rows(), y.data(), rstd.data());
  RunExactly(rms_norm::ForwardFormula<double>{kEps, rstd.exact()}, c.groups,
             c.rows, c.cols, Operands{x.exact_rows()}, Operands{scale.exact(1)},
             Operands{y.exact()}, kNone);
  rstd.Compare("rstd", 2, c.Depth());
  y.Compare("y", magnitude, c.Depth());
  if (c.cols == 0) return;
  rms_norm::Backward<T, W>(kDevice, c.groups, c.rows, c.cols, x.rows(),
                           scale.rows(), rstd.rows(), dy.rows(), dx.data(),
                           scale.sums());
  RunExactly(rms_norm::BackwardFormula<double>{rstd.exact_rows()}, c.groups,
             c.rows, c.cols, Operands{x.exact_rows(), dy.exact_rows()},
             Operands{scale.exact(1)}, Operands{dx.exact()},
             Operands{scale.gradient.exact()});
  dx.Compare("dx", magnitude * dy.largest(), c.Depth());
  scale.Compare("dscale", magnitude * dy.largest(), c.rows);
}

template <typename T, typename W>
void TestLayerNorm(const Case& c) {
  using Acc = Accumulator<T>;
  const int64_t rows = c.groups * c.rows;
  Input<T> x(c), dy(c);
  Shared<W> scale(c, 0), bias(c, 1);
  Output<T> y(c), dx(c);
  Residual<Acc> mean(c), rstd(c);
  const double magnitude = 24 * scale.value.largest();
  layer_norm::Forward<T, W>(kDevice, 0, rows, c.cols, Acc(kEps), x.rows(),
                            scale.rows(), bias.rows(), y.data(), mean.data(),
                            rstd.data());
  RunExactly(
      layer_norm::ForwardFormula<double>{kEps, mean.exact(), rstd.exact()},
      c.groups, c.rows, c.cols, Operands{x.exact_rows()},
      Operands{scale.exact(1), bias.exact(0)}, Operands{y.exact()}, kNone);
  mean.Compare("mean", x.largest(), c.Depth());
  rstd.Compare("rstd", 2, c.Depth());
  y.Compare("y", magnitude, c.Depth());
  if (c.cols == 0) return;
  layer_norm::Backward<T, W>(kDevice, c.groups, c.rows, c.cols, x.rows(),
                             scale.rows(), bias.rows(), mean.rows(),
                             rstd.rows(), dy.rows(), dx.data(), scale.sums(),
                             bias.sums());
  RunExactly(
      layer_norm::BackwardFormula<double>{mean.exact_rows(), rstd.exact_rows()},
      c.groups, c.rows, c.cols, Operands{x.exact_rows(), dy.exact_rows()},
      Operands{scale.exact(1)}, Operands{dx.exact()},
      Operands{scale.gradient.exact(), bias.gradient.exact()});
  dx.Compare("dx", magnitude * dy.largest(), c.Depth());
  scale.Compare("dscale", magnitude * dy.largest(), c.rows);
  bias.Compare("dbias", dy.largest(), c.rows);
}

template <typename T, typename W>
void TestAddRmsNorm(const Case& c) {
  using Acc = Accumulator<T>;
  const int64_t rows = c.groups * c.rows;
  Input<T> x(c), residual(c), dy(c), dsum(c);
  Shared<W> scale(c, 0);
  Output<T> y(c), sum(c), dx(c), dresidual(c);
  Residual<Acc> rstd(c);
  const double magnitude = 24 * scale.value.largest();
  add_rms_norm::Forward<T, W>(kDevice, 0, rows, c.cols, Acc(kEps), x.rows(),
                              residual.rows(), scale.rows(), y.data(),
                              sum.data(), rstd.data());
  RunExactly(add_rms_norm::ForwardFormula<T, double>{{kEps, rstd.exact()}},
             c.groups, c.rows, c.cols,
             Operands{x.exact_rows(), residual.exact_rows()},
             Operands{scale.exact(1)}, Operands{y.exact(), sum.exact()}, kNone);
  rstd.Compare("rstd", 2, c.Depth());
  y.Compare("y", magnitude, c.Depth());
  sum.Compare("sum", x.largest() + residual.largest(), 0);
  if (c.cols == 0) return;
  add_rms_norm::Backward<T, W>(kDevice, c.groups, c.rows, c.cols, scale.rows(),
                               sum.rows(), rstd.rows(), dy.rows(), dsum.rows(),
                               dx.data(), dresidual.data(), scale.sums());
  RunExactly(add_rms_norm::BackwardFormula<double>{{rstd.exact_rows()}},
             c.groups, c.rows, c.cols,
             Operands{sum.exact_rows(), dy.exact_rows(), dsum.exact_rows()},
             Operands{scale.exact(1)}, Operands{dx.exact(), dresidual.exact()},
             Operands{scale.gradient.exact()});
  dx.Compare("dx", magnitude * dy.largest() + dsum.largest(), c.Depth());
  dresidual.Compare("dresidual", magnitude * dy.largest() + dsum.largest(),
                    c.Depth());
  scale.Compare("dscale", magnitude * dy.largest(), c.rows);
}

template <typename T>
void TestSoftmax(const Case& c) {
  const int64_t rows = c.groups * c.rows;
  Input<T> x(c), dy(c);
  Output<T> y(c), dx(c);
  softmax::Forward<T>(kDevice, 0, rows, c.cols, x.rows(), y.data());
  RunExactly(softmax::ForwardFormula<double>{}, c.groups, c.rows, c.cols,
             Operands{x.exact_rows()}, kUnweighted, Operands{y.exact()}, kNone);
  y.Compare("y", 2 * x.largest(), c.Depth());
  if (c.cols == 0) return;
  softmax::Backward<T>(kDevice, 0, rows, c.cols, x.rows(), dy.rows(),
                       dx.data());
  RunExactly(softmax::BackwardFormula<double>{}, c.groups, c.rows, c.cols,
             Operands{x.exact_rows(), dy.exact_rows()}, kUnweighted,
             Operands{dx.exact()}, kNone);
  dx.Compare("dx", x.largest() * x.largest() * c.cols * dy.largest(),
             c.Depth());
}

// Aligned, once more, and not: it makes as many launches, and for the same
// alignment the same bits, whatever the order of the threads is.
void Test(Case c, const char* name, void (*test)(const Case&)) {
  uint64_t first_bits = 0;
  int first_launches = 0;
  for (const int run : {0, 1, 2}) {
    if (run == 1 && c.cols > 1000 && c.cols != 65544) continue;
    c.aligned = run < 2;
    context = name + c.Name();
    generator.seed(c.cols);
    bits = 0;
    const int before = emulator::launches;
    test(c);
    const int launches = emulator::launches - before;
    if (run == 0) first_bits = bits, first_launches = launches;
    Check(launches == first_launches, "another number of launches");
    Check(run != 1 || bits == first_bits, "other bits in another order");
  }
}

template <typename T, typename W>
void TestNorms(const Case& c, const char* types) {
  Test(c, (std::string("rms_norm ") + types).c_str(), TestRmsNorm<T, W>);
  Test(c, (std::string("layer_norm ") + types).c_str(), TestLayerNorm<T, W>);
  Test(c, (std::string("add_rms_norm ") + types).c_str(), TestAddRmsNorm<T, W>);
}

#define TEST_NORMS(T, W) TestNorms<T, W>(c, #T " " #W);
#define TEST_SOFTMAX(T) Test(c, "softmax " #T, TestSoftmax<T>);

void TestTypes(const Case& c) {
  XLA_FFI_OPS_WEIGHTED_TYPES(TEST_NORMS)
  XLA_FFI_OPS_TYPES(TEST_SOFTMAX)
}
void TestFloats(const Case& c) {
  TEST_NORMS(float, float)
  TEST_NORMS(BFloat16, BFloat16)
  TEST_SOFTMAX(float)
  TEST_SOFTMAX(BFloat16)
}

void TestAll() {
  setenv("EMULATED_DEVICE", "0", true);
  for (const int64_t cols : {0, 1, 3, 8, 33, 64, 256, 1000}) {
    TestTypes({2, 5, cols});
  }
  for (const unsigned present : {0, 1, 2}) TestTypes({1, 9, 64, 3, present});
  for (const int64_t cols : {2048, 4096, 8200, 12289}) TestFloats({1, 3, cols});
  for (const int64_t cols : {4, 33, 1024, 16385}) {
    Case c{1, 4, cols};
    c.finite = false;
    TestFloats(c);
    c.finite = true;
    c.shared = true;
    TestFloats(c);
  }
  for (const char* device : {"0", "1", "2"}) {
    setenv("EMULATED_DEVICE", device, true);
    for (const int64_t cols : {16385, 65544, 300008}) TestFloats({1, 2, cols});
    for (const int64_t parts : {1, 2, 5, 300}) {
      for (const int64_t rows : {1, 7, 200}) TestFloats({1, rows, 33, parts});
      TestFloats({3, 11, 520, parts});
    }
    TestFloats({3, 0, 8});
    TestFloats({0, 3, 8});
    TestFloats({100, 1, 40});
  }
  setenv("EMULATED_DEVICE", "1", true);
  setenv("EMULATED_OLD_DRIVER", "1", true);
  TestFloats({1, 3, 70000});
}

}  // namespace
}  // namespace xla_ffi_ops

int main() {
  xla_ffi_ops::TestAll();
  return xla_ffi_ops::failures > 0;
}
