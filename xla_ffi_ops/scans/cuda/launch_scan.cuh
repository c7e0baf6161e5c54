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
  int64_t strips;
  int64_t pieces;
  int64_t piece;

  // `lanes` are those of a warp that are along the axis.
  ScanShape(const Scan& scan, int64_t rows, int lanes, int64_t multiprocessors)
      : strips(rows * Quotient(scan.columns, kScanLanes)),
        pieces(1),
        piece(scan.n) {
    // Two blocks of a multiprocessor keep its memory busy. Pieces read the
    // operands twice: half of the multiprocessors do better. No GPU measured
    // that.
    constexpr int64_t kBlocks = 2, kLeastTiles = 4;
    // A last piece of fewer steps has no room for what is before it.
    constexpr int64_t kLeastSteps = 32;
    const int64_t warp = int64_t{Scan::kSteps} * lanes;
    warps = static_cast<int>(
        std::clamp<int64_t>(Quotient(scan.n, warp), 1, kMostScanWarps));
    const int64_t tile = warps * warp;
    if (2 * strips > multiprocessors || scan.n < 2 * kLeastTiles * tile) return;
    const int64_t wanted = Quotient(kBlocks * multiprocessors, strips);
    const int64_t tiles =
        std::max(kLeastTiles, Quotient(Quotient(scan.n, tile), wanted));
    piece = tiles * tile;
    pieces = Quotient(scan.n, piece);
    if (scan.n - (pieces - 1) * piece < kLeastSteps) --pieces;
  }

  static int64_t Quotient(int64_t x, int64_t by) { return (x + by - 1) / by; }
};

// Blocks take turns where there are more of them than a grid may have.
inline unsigned ScanGrid(int64_t blocks) {
  constexpr int64_t kMost = 1 << 30;
  return static_cast<unsigned>(std::min(blocks, kMost));
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
  const Args args{scan, rows, shape.pieces, shape.piece};
  LaunchShape launch;
  launch.grid = internal::ScanGrid(shape.strips * shape.pieces);
  launch.block = dim3(kScanLanes, shape.warps);
  launch.shared_bytes = sizeof(internal::ScanShared<Scan, kRows>);
  if (shape.pieces > 1) {
    Launch("TotalsKernel", internal::TotalsKernel<Args, kRows>, launch, stream,
           args);
    constexpr int kThreads = 128;
    LaunchShape join;
    join.block = dim3(kThreads);
    join.grid = internal::ScanGrid(
        internal::ScanShape<Scan>::Quotient(rows * scan.columns, kThreads));
    Launch("JoinPiecesKernel", internal::JoinPiecesKernel<Args>, join, stream,
           args);
  }
  Launch("ScanKernel", internal::ScanKernel<Args, kRows>, launch, stream, args);
}

// Computes what all steps of each column make, likewise.
template <bool kRows, typename Scan>
void LaunchTotals(cudaStream_t stream, const Scan& scan, int64_t rows) {
  using Args = internal::ScanArgs<Scan>;
  using internal::kScanLanes;
  const internal::ScanShape<Scan> shape(scan, rows, kRows ? kScanLanes : 1,
                                        /*multiprocessors=*/0);
  LaunchShape launch;
  launch.grid = internal::ScanGrid(shape.strips);
  launch.block = dim3(kScanLanes, shape.warps);
  launch.shared_bytes = sizeof(internal::ScanShared<Scan, kRows>);
  Launch("TotalsKernel", internal::TotalsKernel<Args, kRows>, launch, stream,
         Args{scan, rows, 1, scan.n});
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_SCANS_CUDA_LAUNCH_SCAN_CUH_
