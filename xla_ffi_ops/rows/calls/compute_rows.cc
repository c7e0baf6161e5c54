// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/rows/calls/compute_rows.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

#include "xla_ffi_ops/handler/dtype.h"
#include "xla_ffi_ops/rows/calls/sum_rows.h"
#include "xla_ffi_ops/threads/parallel_loop.h"
#include "xla_ffi_ops/vec/compensated.h"
#include "xla_ffi_ops/vec/convert_rows.h"
#include "xla_ffi_ops/vec/float16.h"

namespace xla_ffi_ops::internal {
namespace {

using xla::ffi::Error;

// Where a gradient goes.
struct Gradient {
  // Rounds n numbers of it, from `first` on.
  template <typename Acc>
  void Store(const Acc* sums, int64_t first, int64_t n) const {
    Dispatch(FloatDTypes(), dtype, [&](auto w) {
      using W = TypeOf<decltype(w)>;
      W* const to = static_cast<W*>(data) + first;
      if constexpr (std::is_same_v<Acc, float> && kIs16BitFloat<W>) {
        NarrowRow(sums, to, n);
      } else {
        std::copy_n(sums, n, to);
      }
    });
  }

  bool shared;  // by the rows of a group; else each row has its own
  xla::ffi::DataType dtype;
  void* data;
};

std::vector<Gradient> Gradients(const Weight* const* weights, int count) {
  std::vector<Gradient> gradients;
  for (const Weight* weight : std::vector(weights, weights + count)) {
    if (!weight->gradient.given) continue;
    gradients.push_back({weight->shared, weight->gradient.dtype(),
                         weight->gradient.data<void>()});
  }
  return gradients;
}

// Some gradients are sums over groups, others are of a row each: one row after
// another. The sums of the former are stored in `sums`.
template <typename Acc>
void SumRowByRow(const std::vector<Gradient>& gradients,
                 const SumGradients<Acc>& body, int64_t begin, int64_t end,
                 int64_t cols, Acc* sums) {
  std::vector<Acc> row_sums(gradients.size() * cols);
  std::vector<Compensated<Acc>> totals(gradients.size() * cols);
  for (int64_t row = begin; row < end; ++row) {
    body(row, row + 1, row_sums.data());
    for (size_t i = 0; i < gradients.size(); ++i) {
      const Acc* const from = row_sums.data() + i * cols;
      if (gradients[i].shared) {
        for (int64_t j = 0; j < cols; ++j) totals[i * cols + j].Add(from[j]);
      } else {
        gradients[i].Store(from, row * cols, cols);
      }
    }
  }
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].shared) continue;
    for (int64_t j = 0; j < cols; ++j) *sums++ = totals[i * cols + j].value();
  }
}

}  // namespace

bool Any(const Weight* const* weights, int count, bool shared) {
  return std::any_of(weights, weights + count, [shared](const Weight* weight) {
    return weight->gradient.given && weight->shared == shared;
  });
}

HandlerResult SplitRows(const CpuContext& device, int64_t rows,
                        int64_t bytes_per_row,
                        std::function<void(int64_t, int64_t)> body) {
  // Each range converts anew what all rows share. With few ranges for each
  // thread, that costs little, and no thread waits long for the last ones.
  const int64_t ranges = 16 * device.threads();
  return ParallelFor(device.pool, rows,
                     std::max(Grain(bytes_per_row, rows), rows / ranges),
                     std::move(body));
}

template <typename Acc>
HandlerResult SplitSums(const CpuContext& device, const Call& call,
                        const Weight* const* weights, int count, int64_t cols,
                        int64_t bytes_per_row, SumGradients<Acc> body) {
  const bool shared = Any(weights, count, true);
  const bool own = Any(weights, count, false);
  const int64_t groups = call.Groups(shared);
  const int64_t rows = call.GroupRows(shared);
  if (groups == 0 || cols == 0) return Error::Success();
  if (!shared && !own) {
    return SplitRows(device, groups, bytes_per_row,
                     [body = std::move(body)](int64_t begin, int64_t end) {
                       body(begin, end, nullptr);
                     });
  }
  const std::vector<Gradient> gradients = Gradients(weights, count);
  // Those that are summed over groups: if no weight is shared, a row is one.
  std::vector<Gradient> summed = gradients;
  SumGradients<Acc> sum = std::move(body);
  if (shared && own) {
    summed.erase(std::remove_if(summed.begin(), summed.end(),
                                [](const Gradient& g) { return !g.shared; }),
                 summed.end());
    sum = [=, body = std::move(sum)](int64_t begin, int64_t end, Acc* sums) {
      SumRowByRow(gradients, body, begin, end, cols, sums);
    };
  }
  const int64_t size = static_cast<int64_t>(summed.size()) * cols;
  return SumGroups<Acc>(
      device, groups, rows, bytes_per_row, size,
      [sum = std::move(sum)](int64_t begin, int64_t end, Acc* sums) {
        return Try<Error>([&] { sum(begin, end, sums); });
      },
      [=](const Acc* sums, int64_t group) {
        for (const Gradient& gradient : summed) {
          gradient.Store(sums, group * cols, cols);
          sums += cols;
        }
      });
}

template <typename Acc>
StoreSums<Acc> StoreGradients(const Weight* const* weights, int count,
                              int64_t cols) {
  return [=, gradients = Gradients(weights, count)](
             const Acc* sums, int64_t group, int64_t begin, int64_t end) {
    for (const Gradient& gradient : gradients) {
      gradient.Store(sums, group * cols + begin, end - begin);
      sums += end - begin;
    }
  };
}

template StoreSums<float> StoreGradients(const Weight* const*, int, int64_t);
template StoreSums<double> StoreGradients(const Weight* const*, int, int64_t);
template HandlerResult SplitSums(const CpuContext&, const Call&,
                                 const Weight* const*, int, int64_t, int64_t,
                                 SumGradients<float>);
template HandlerResult SplitSums(const CpuContext&, const Call&,
                                 const Weight* const*, int, int64_t, int64_t,
                                 SumGradients<double>);

}  // namespace xla_ffi_ops::internal
