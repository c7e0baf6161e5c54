// SPDX-License-Identifier: Apache-2.0
// Launches the kernels of scan_tiles.cuh. The launches depend on shapes alone.
#ifndef XLA_FFI_OPS_SCANS_CUDA_LAUNCH_SCAN_CUH_
#define XLA_FFI_OPS_SCANS_CUDA_LAUNCH_SCAN_CUH_

#include <algorithm>
#include <cstdint>

#include "xla_ffi_ops/cuda/launch.cuh"
#include "xla_ffi_ops/cuda/stream_device.cuh"
#include "xla_ffi_ops/scans/cuda/scan_tiles.cuh"
#include "xla_ffi_ops/vec/device.h"

namespace xla_ffi_ops {
namespace internal {

// How blocks share a scan.
template <typename Scan>
struct ScanShape {
  int warps;
  int64_t strips;  // of 32 columns, in a row
  int64_t pieces;
  int64_t piece;

  // `lanes` are those of a warp that are along the axis.
  ScanShape(const Scan& scan, int64_t rows, int lanes, int64_t multiprocessors)
      : strips(CeilDiv(scan.columns, kScanLanes)), pieces(1), piece(scan.n) {
    // Two blocks of a multiprocessor keep its memory busy. Pieces read the
    // operands twice: half of the multiprocessors do better. No GPU measured
    // that.
    constexpr int64_t kBlocks = 2, kLeastTiles = 4;
    // A last piece of fewer steps has no room for what is before it.
    constexpr int64_t kLeastSteps = 32;
    const int64_t warp = int64_t{Scan::kSteps} * lanes;
    warps = static_cast<int>(
        std::clamp<int64_t>(CeilDiv(scan.n, warp), 1, kMostScanWarps));
    const int64_t tile = warps * warp;
    const int64_t blocks = rows * strips;
    if (2 * blocks > multiprocessors || scan.n < 2 * kLeastTiles * tile) return;
    const int64_t wanted = CeilDiv(kBlocks * multiprocessors, blocks);
    const int64_t tiles =
        std::max(kLeastTiles, CeilDiv(CeilDiv(scan.n, tile), wanted));
    piece = tiles * tile;
    pieces = CeilDiv(scan.n, piece);
    if (scan.n - (pieces - 1) * piece < kLeastSteps) --pieces;
  }
};

// Calls launch(first_row, grid) for grids that have a block for each strip, row
// and piece. (A grid has room for 2^36 columns.)
template <bool kRows, typename Fn>
void ForGrids(int64_t rows, int64_t strips, int64_t pieces, Fn launch) {
  constexpr int64_t kMostRows = kRows ? (int64_t{1} << 31) - 1 : 65535;
  for (int64_t row = 0; row < rows; row += kMostRows) {
    const auto some = static_cast<unsigned>(std::min(rows - row, kMostRows));
    launch(row, dim3(kRows ? some : static_cast<unsigned>(strips),
                     kRows ? 1 : some, static_cast<unsigned>(pieces)));
  }
}

}  // namespace internal

// Scans all columns of all rows, of which there are some, on the current
// device. If kRows, there is one column.
template <bool kRows, typename Scan>
void LaunchScan(const StreamDevice& device, cudaStream_t stream,
                const Scan& scan, int64_t rows) {
  using Args = internal::ScanArgs<Scan>;
  using internal::kScanLanes;
  const internal::ScanShape<Scan> shape(scan, rows, kRows ? kScanLanes : 1,
                                        Multiprocessors(device));
  LaunchShape tiles;
  tiles.block = dim3(kScanLanes, shape.warps);
  tiles.shared_bytes = sizeof(internal::ScanShared<Scan, kRows>);
  // A thread for each column.
  constexpr int kThreads = 128;
  LaunchShape columns;
  columns.block = dim3(kThreads);
  columns.grid = dim3(static_cast<unsigned>(CeilDiv(scan.columns, kThreads)),
                      static_cast<unsigned>(rows));
  const bool shares = shape.pieces > 1;
  const auto launch = [&](int64_t first_row, dim3 grid) {
    const Args args{scan, first_row, shape.pieces, shape.piece};
    if (shares) {
      // Nothing is behind the last piece.
      tiles.grid = dim3(grid.x, grid.y, grid.z - 1);
      Launch("TotalsKernel", internal::TotalsKernel<Args, kRows>, tiles, stream,
             args);
      Launch("JoinPiecesKernel", internal::JoinPiecesKernel<Args>, columns,
             stream, args);
    }
    tiles.grid = grid;
    Launch("ScanKernel", internal::ScanKernel<Args, kRows>, tiles, stream,
           args);
    if constexpr (!Scan::kIsAlwaysSure) {
      if (shares && scan.MayBeUnsure()) {
        Launch("MendPiecesKernel", internal::MendPiecesKernel<Args>, columns,
               stream, args);
      }
    }
  };
  internal::ForGrids<kRows>(rows, shape.strips, shape.pieces, launch);
}

// Computes what all steps of each column make, likewise.
template <bool kRows, typename Scan>
void LaunchTotals(cudaStream_t stream, const Scan& scan, int64_t rows) {
  using Args = internal::ScanArgs<Scan>;
  using internal::kScanLanes;
  const internal::ScanShape<Scan> shape(scan, rows, kRows ? kScanLanes : 1,
                                        /*multiprocessors=*/0);
  LaunchShape tiles;
  tiles.block = dim3(kScanLanes, shape.warps);
  tiles.shared_bytes = sizeof(internal::ScanShared<Scan, kRows>);
  const auto launch = [&](int64_t first_row, dim3 grid) {
    tiles.grid = grid;
    Launch("TotalsKernel", internal::TotalsKernel<Args, kRows>, tiles, stream,
           Args{scan, first_row, 1, scan.n});
  };
  internal::ForGrids<kRows>(rows, shape.strips, 1, launch);
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_SCANS_CUDA_LAUNCH_SCAN_CUH_
