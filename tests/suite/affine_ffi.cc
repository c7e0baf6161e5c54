// SPDX-License-Identifier: Apache-2.0
// An optional operand in the middle, (n),(n)?,(n)->(n): y = x w + b, or x + b.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "xla_ffi_ops/ffi.h"

namespace xla_ffi_ops {
namespace {

using Buffer = ffi::AnyBuffer;
using Result = ffi::Result<ffi::AnyBuffer>;

// What `present` says that a call has.
struct Given {
  Checks checks;
  bool has_w = false;
  std::vector<Buffer> args;
  std::vector<Result> rets;
  Dim n = kUnknownDim;

  Given(int64_t present, size_t more, size_t results, ffi::RemainingArgs given,
        ffi::RemainingRets taken)
      : has_w(present & 2) {
    if ((present & ~int64_t{2}) != 5) {
      checks.Fail("present", "be 5 or 7", std::to_string(present));
    }
    const size_t count = 2 + has_w + more;
    if (given.size() != count) {
      checks.Fail("operands", "be " + std::to_string(count),
                  std::to_string(given.size()));
    }
    if (taken.size() != results) {
      checks.Fail("results", "be " + std::to_string(results),
                  std::to_string(taken.size()));
    }
    for (size_t i = 0; checks.ok() && i < given.size(); ++i) {
      args.push_back(*given.get<Buffer>(i));
    }
    for (size_t i = 0; checks.ok() && i < taken.size(); ++i) {
      rets.push_back(*taken.get<Buffer>(i));
    }
  }

  Rows<const float> Operand(const char* name, const Buffer& buffer) {
    return {Data<const float>(buffer), n, checks.Map(name, buffer, 1)};
  }
};

HandlerResult Forward(CpuContext, int64_t present, ffi::RemainingArgs args,
                      ffi::RemainingRets rets) {
  Given call(present, 0, 1, args, rets);
  if (!call.checks.ok()) return call.checks.error();
  const char* const names[] = {"x", call.has_w ? "w" : "b", "b"};
  for (size_t i = 0; i < call.args.size(); ++i) {
    call.checks.Operand(names[i], call.args[i], ffi::F32, {&call.n});
  }
  std::vector<Rows<const float>> rows;
  for (size_t i = 0; i < call.args.size(); ++i) {
    rows.push_back(call.Operand(names[i], call.args[i]));
  }
  call.checks.Result("y", *call.rets[0], ffi::F32, {&call.n});
  if (!call.checks.ok()) return call.checks.error();

  float* y = Data<float>(*call.rets[0]);
  for (int64_t row = 0; row < Product(call.checks.loops()); ++row) {
    const float* x = rows[0][row];
    const float* b = rows.back()[row];
    for (int64_t j = 0; j < call.n; ++j) {
      *y++ = (call.has_w ? rows[1][row][j] : 1.0f) * x[j] + b[j];
    }
  }
  return ffi::Error::Success();
}

HandlerResult Backward(CpuContext, int64_t batch_rank, int64_t present,
                       ffi::RemainingArgs args, ffi::RemainingRets rets) {
  Given call(present, 1, 2 + (present >> 1 & 1), args, rets);
  Checks& checks = call.checks;
  if (!checks.ok()) return checks.error();
  const Buffer& dy = call.args.back();
  const size_t count = call.args.size() - 1;
  const char* const names[] = {"x", call.has_w ? "w" : "b", "b"};
  checks.Operand("dy", dy, ffi::F32, {&call.n});
  std::vector<bool> shared;
  for (size_t i = 0; i < count; ++i) {
    shared.push_back(checks.SharedOperand(names[i], call.args[i], ffi::F32,
                                          {&call.n}, batch_rank));
  }
  const int64_t rank = checks.loops().size();
  std::vector<Rows<const float>> rows;
  for (size_t i = 0; i < count; ++i) {
    rows.push_back(call.Operand(names[i], call.args[i]));
    checks.Result(names[i], *call.rets[i], ffi::F32, {&call.n},
                  shared[i] ? batch_rank : rank);
  }
  const Rows<const float> dy_rows = call.Operand("dy", dy);
  if (!checks.ok()) return checks.error();

  const int64_t group = Product(checks.loops().last(rank - batch_rank));
  for (size_t i = 0; i < count; ++i) {
    float* out = Data<float>(*call.rets[i]);
    std::fill_n(out, call.rets[i]->element_count(), 0.0f);
    // With w there is a factor: w for x, x for w, and 1 for b.
    const bool factor = call.has_w && i < 2;
    for (int64_t row = 0; row < Product(checks.loops()); ++row) {
      float* sum = out + (shared[i] ? row / group : row) * call.n;
      for (int64_t j = 0; j < call.n; ++j) {
        sum[j] += dy_rows[row][j] * (factor ? rows[1 - i][row][j] : 1.0f);
      }
    }
  }
  return ffi::Error::Success();
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(test_affine_fwd, Forward,
                           .Attr<int64_t>("present")
                               .RemainingArgs()    // x, w, b
                               .RemainingRets());  // y

XLA_FFI_OPS_DEFINE_HANDLER(test_affine_bwd, Backward,
                           .Attr<int64_t>("batch_rank")
                               .Attr<int64_t>("present")
                               .RemainingArgs()    // x, w, b, dy
                               .RemainingRets());  // dx, dw, db

}  // namespace xla_ffi_ops
