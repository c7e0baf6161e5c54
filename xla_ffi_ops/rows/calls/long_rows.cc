// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/rows/calls/long_rows.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "xla_ffi_ops/rows/calls/sum_rows.h"
#include "xla_ffi_ops/rows/cpu/row_pieces.h"

namespace xla_ffi_ops::internal {
namespace {

template <typename Acc>
class Work {
 public:
  explicit Work(LongRows<Acc> rows)
      : rows_(std::move(rows)),
        statistics_(2 * rows_.range.groups * rows_.range.rows *
                    Pieces<Acc>(rows_.range.cols)) {}

  // Columns [begin, end) of a phase.
  void Run(int64_t phase, int64_t begin, int64_t end) {
    Run({phase, begin, end, false, rows_.known.get(), statistics_.data()});
  }
  void EndPass(int64_t pass) {
    if (pass == rows_.passes) return;
    Run({pass, 0, rows_.range.cols, true, rows_.known.get(),
         statistics_.data()});
  }

 private:
  void Run(const RowPart& part) {
    const int64_t stored =
        part.phase == rows_.passes ? rows_.sums * (part.end - part.begin) : 0;
    std::vector<Acc> sums(1 + stored);  // Null would mean: no sums are wanted.
    RowRange range = rows_.range;
    range.part = &part;
    range.groups = 1;
    for (int64_t group = 0; group < rows_.range.groups; ++group) {
      rows_.run(range, sums.data());
      if (stored > 0) rows_.store(sums.data(), group, part.begin, part.end);
      range.begin += range.rows;
    }
  }

  LongRows<Acc> rows_;
  std::vector<Acc> statistics_;
};

}  // namespace

bool AreLongRows(const CpuContext& device, int64_t rows, int64_t cols) {
  return cols > kCachedCols && rows > 0 && rows < 2 * kLeastPartRows &&
         device.AreFew(rows);
}

template <typename Acc>
HandlerResult SplitLongRows(const CpuContext& device, LongRows<Acc> rows) {
  const int64_t phases = rows.passes + 1;
  const int64_t cols = rows.range.cols;
  const int64_t grain = Grain(rows.bytes_per_col * rows.range.groups *
                              rows.range.rows * kPiece<Acc>);
  const auto work = std::make_shared<Work<Acc>>(std::move(rows));
  return ParallelPhases(
      device.pool, phases, Pieces<Acc>(cols), grain,
      [=](int64_t phase, int64_t begin, int64_t end) {
        work->Run(phase, begin * kPiece<Acc>,
                  std::min(cols, end * kPiece<Acc>));
      },
      [=](int64_t phase) { work->EndPass(phase); });
}

template HandlerResult SplitLongRows(const CpuContext&, LongRows<float>);
template HandlerResult SplitLongRows(const CpuContext&, LongRows<double>);

}  // namespace xla_ffi_ops::internal
