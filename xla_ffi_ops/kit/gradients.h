// SPDX-License-Identifier: Apache-2.0
// The gradients of weights, on every device.
#ifndef XLA_FFI_OPS_KIT_GRADIENTS_H_
#define XLA_FFI_OPS_KIT_GRADIENTS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include "xla/ffi/api/ffi.h"
#include "xla_ffi_ops/kit/call.h"
#include "xla_ffi_ops/kit/compensated.h"
#include "xla_ffi_ops/kit/device.h"
#include "xla_ffi_ops/kit/parallel.h"
#include "xla_ffi_ops/kit/sum_rows.h"
#include "xla_ffi_ops/kit/workspace.h"

namespace xla_ffi_ops {

namespace internal {

// Whether one of the weights that are given is `shared`, or else is not.
template <size_t k>
bool Any(const Weight* const (&weights)[k], bool shared) {
  return std::any_of(weights, weights + k, [shared](const Weight* weight) {
    return weight->given && weight->shared == shared;
  });
}

}  // namespace internal

// Runs the backward kernel of an op with weights, whose gradients are sums of
// Acc over rows, rounded to W once. On the CPU, for ranges of rows,
//
//   body(Cpu, begin, end, Acc* sums)
//
// stores the sums over the rows [begin, end) in sums[weights given, cols], or
// gets null if no weight is given. On CUDA it enqueues
//
//   body(Cuda, groups, rows, Workspace<W, Acc>...)
//
// for the rows of each group, with a Workspace per weight, null if there is
// nothing to sum. The same body does for both:
//
//   [=](auto where, int64_t a, int64_t b, auto... sums) {
//     Backward<T, W>(where, a, b, d, x, scale, dy, dx, sums...);
//   }
//
// It may be called twice for a row, if only some of the weights are shared.
template <typename W, typename Acc, size_t k, typename Body>
HandlerResult RunBackward(const CpuContext& device, const Call& call,
                          const Weight* const (&weights)[k], int64_t cols,
                          int64_t bytes_per_row, Body body) {
  std::array<W*, k> of_groups{};  // gradients that are sums over many rows
  std::array<W*, k> of_rows{};    // gradients of weights that each row has
  for (size_t i = 0; i < k; ++i) {
    (weights[i]->shared ? of_groups : of_rows)[i] =
        weights[i]->gradient.template data<W>();
  }
  const bool shared = internal::Any(weights, true);
  const bool own = internal::Any(weights, false);
  const int64_t groups = call.Groups(shared);
  const int64_t rows = call.GroupRows(shared);
  if (groups == 0 || cols == 0) return xla::ffi::Error::Success();
  if (!shared && !own) {
    return ForRows(device, groups, bytes_per_row,
                   [=](Cpu cpu, int64_t begin, int64_t end) {
                     body(cpu, begin, end, static_cast<Acc*>(nullptr));
                   });
  }
  if (!shared || !own) {
    return SumRows<Acc>(device, groups, rows, cols, bytes_per_row,
                        shared ? of_groups : of_rows, body);
  }
  const auto row_by_row = [=](Cpu cpu, int64_t begin, int64_t end, Acc* sums) {
    std::vector<Acc> row_sums(k * cols);
    std::vector<Compensated<Acc>> totals(k * cols);
    for (int64_t row = begin; row < end; ++row) {
      body(cpu, row, row + 1, row_sums.data());
      const Acc* from = row_sums.data();
      Compensated<Acc>* to = totals.data();
      for (size_t i = 0; i < k; ++i) {
        if (of_rows[i] == nullptr && of_groups[i] == nullptr) continue;
        for (int64_t j = 0; j < cols; ++j, ++from) {
          if (of_rows[i] == nullptr) {
            (to++)->Add(*from);
          } else {
            of_rows[i][row * cols + j] = static_cast<W>(*from);
          }
        }
      }
    }
    const auto null = std::count(of_groups.begin(), of_groups.end(), nullptr);
    for (size_t j = 0; j < (k - null) * cols; ++j) sums[j] = totals[j].value();
  };
  return SumRows<Acc>(device, groups, rows, cols, bytes_per_row, of_groups,
                      row_by_row);
}

template <typename W, typename Acc, size_t k, typename Body>
HandlerResult RunBackward(Cuda device, const Call& call,
                          const Weight* const (&weights)[k], int64_t cols,
                          int64_t, Body body) {
  const auto run = [&](bool shared, int64_t groups, int64_t rows) {
    if (groups == 0 || cols == 0 || (rows == 0 && !shared)) return;
    std::array<Workspace<W, Acc>, k> workspaces{};
    for (size_t i = 0; i < k; ++i) {
      const Weight& weight = *weights[i];
      if (!weight.given || weight.shared != shared) continue;
      workspaces[i] = {weight.gradient.template data<W>(),
                       weight.workspace.template data<Acc>(), weight.parts};
    }
    std::apply([&](auto... each) { body(device, groups, rows, each...); },
               workspaces);
  };
  const bool shared = internal::Any(weights, true);
  const bool own = internal::Any(weights, false);
  if (shared) run(true, call.Groups(true), call.GroupRows(true));
  if (own) run(false, call.Groups(false), 1);
  if (!shared && !own) run(false, 1, call.Groups(false));
  return xla::ffi::Error::Success();
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_KIT_GRADIENTS_H_
