// SPDX-License-Identifier: Apache-2.0
// Scans along an axis on a CUDA device. A scan has these:
//
//   using Item;   // what one step reads
//   using State;  // what several steps make of what is before them
//   using Carry;  // what a step gives to the next one
//   using Local;  // a state while one thread makes it
//   using Result;  // what a step writes
//   static constexpr int kSteps;          // of a thread
//   static constexpr bool kIsAlwaysSure;  // if so, no plain loop is compiled
//   int64_t n, columns;
//   Place At(int64_t row, int64_t column);    // where a column is
//   using Loaded;  // kSteps items as they come from memory
//   void Load<kRows>(place, first, count, Loaded*);  // from step `first` on
//   void Read<kRows>(Loaded, items);
//   Item LoadOne(place, i);
//   void Add(item, Local*);                   // a step behind the others
//   State Whole(local);
//   State Join(State sooner, State later);
//   Carry Start(place);
//   Carry After(State, Carry before);
//   Carry Step(item, Carry before);           // as a plain loop computes it
//   Result ResultOf(Carry);
//   bool IsSure(Carry first, Carry result);   // whether a plain loop has it,
//                                             // too; else that computes a tile
//   bool IsOrdinary(Carry);                   // if not (infinite, NaN), no
//                                             // later one is, either
//   Carry CarryAt(place, i);                  // as read from the results
//   static constexpr bool kRoundsCarry;       // whether they have fewer bits
//   void Store<kRows>(place, first, count, results);
//   void StoreOne(place, i, result);
//   void SaveTotal(place, begin, State);      // of the steps from `begin` on
//   Slot* Slot(place, i);                     // the memory of a result
//   int SlotBytes();
//
// A block scans a row, or 32 columns, in tiles. Each thread makes a state of
// some successive steps. Then it knows what is before its first step, and takes
// each of its steps as a plain loop does. A tile in which a state may have
// overflown is computed by a plain loop. So results are those of a plain loop
// but for their last bits, also where there are infinities and NaN. Nothing
// depends on the order of threads.
//
// If there are few rows or columns, blocks share the steps, in pieces: one
// kernel makes the state of each piece, the next one joins them, and then all
// pieces are scanned. A plain loop may overflow inside of a piece whose state
// does not, or the other way round. The last kernel finds columns where that
// matters, and computes them by a plain loop.
#ifndef XLA_FFI_OPS_SCANS_CUDA_SCAN_TILES_CUH_
#define XLA_FFI_OPS_SCANS_CUDA_SCAN_TILES_CUH_

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "xla_ffi_ops/cuda/shared_memory.cuh"
#include "xla_ffi_ops/scans/cuda/numbers.cuh"
#include "xla_ffi_ops/vec/device.h"

namespace xla_ffi_ops::internal {

inline constexpr int kScanLanes = 32;
inline constexpr int kMostScanWarps = 16;

// What kernels get. Pieces of an axis are scanned by different blocks; the last
// piece takes the rest of the axis, too.
template <typename ScanType>
struct ScanArgs {
  using Scan = ScanType;

  Scan scan;
  int64_t first_row;  // of the grid
  int64_t pieces;
  int64_t piece;  // steps

  XLA_FFI_OPS_HD int64_t Begin(int64_t index) const { return index * piece; }
  XLA_FFI_OPS_HD int64_t End(int64_t index) const {
    return index == pieces - 1 ? scan.n : (index + 1) * piece;
  }
};

// Several pieces: what a piece makes, and later what is before it, waits in the
// memory of its first results. (A word at a time: registers have no addresses.)
template <bool kSave, int kBytes, typename Scan, int kWords>
__device__ inline void CopyWords(const Scan& scan,
                                 const typename Scan::Place& place,
                                 int64_t begin, uint32_t (&words)[kWords]) {
  static_assert(4 * kWords % kBytes == 0);
#pragma unroll
  for (int i = 0; i < 4 * kWords / kBytes; ++i) {
    auto* const slot = scan.Slot(place, begin + i);
    if constexpr (kBytes < 4) {
      using Part = std::conditional_t<kBytes == 1, uint8_t, uint16_t>;
      constexpr int kParts = 4 / kBytes;
      const int shift = i % kParts * 8 * kBytes;
      auto* const part = reinterpret_cast<Part*>(slot);
      if constexpr (kSave) {
        *part = words[i / kParts] >> shift;
      } else {
        words[i / kParts] |= uint32_t{*part} << shift;
      }
    } else {
#pragma unroll
      for (int j = 0; j < kBytes / 4; ++j) {
        auto* const word = reinterpret_cast<uint32_t*>(slot) + j;
        if constexpr (kSave) {
          *word = words[i * kBytes / 4 + j];
        } else {
          words[i * kBytes / 4 + j] = *word;
        }
      }
    }
  }
}

// Calls fn with the bytes of a slot, of which kMost is a multiple.
template <int kMost, typename Fn>
__device__ inline void WithSlotBytes(int bytes, Fn fn) {
  if constexpr (kMost % 16 == 0) {
    if (bytes == 16) return fn(std::integral_constant<int, 16>());
  }
  if constexpr (kMost % 8 == 0) {
    if (bytes == 8) return fn(std::integral_constant<int, 8>());
  }
  if (bytes == 4) return fn(std::integral_constant<int, 4>());
  if (bytes == 2) return fn(std::integral_constant<int, 2>());
  fn(std::integral_constant<int, 1>());
}

template <typename Scan, typename Value>
__device__ inline void Save(const Scan& scan, const typename Scan::Place& place,
                            int64_t begin, const Value& value) {
  static_assert(sizeof(Value) % 4 == 0);
  uint32_t words[sizeof(Value) / 4];
  memcpy(words, &value, sizeof(Value));
  WithSlotBytes<sizeof(Value)>(scan.SlotBytes(), [&](auto bytes) {
    CopyWords<true, bytes>(scan, place, begin, words);
  });
}

template <typename Value, typename Scan>
__device__ inline Value Saved(const Scan& scan,
                              const typename Scan::Place& place,
                              int64_t begin) {
  uint32_t words[sizeof(Value) / 4] = {};
  WithSlotBytes<sizeof(Value)>(scan.SlotBytes(), [&](auto bytes) {
    CopyWords<false, bytes>(scan, place, begin, words);
  });
  Value value;
  memcpy(&value, words, sizeof(Value));
  return value;
}

// Steps [begin, end) as a plain loop takes them.
template <typename Scan>
__device__ inline typename Scan::Carry PlainSteps(
    const Scan& scan, const typename Scan::Place& place, int64_t begin,
    int64_t end, typename Scan::Carry carry) {
  for (int64_t i = begin; i < end; ++i) {
    carry = scan.Step(scan.LoadOne(place, i), carry);
    scan.StoreOne(place, i, scan.ResultOf(carry));
  }
  return carry;
}

// What the lanes before this one make, in `before`, and what all of a warp do.
template <typename Scan>
__device__ inline void ScanWarp(const Scan& scan, typename Scan::State* before,
                                typename Scan::State* total) {
  *before = typename Scan::State{};
  const int lane = threadIdx.x;
#pragma unroll
  for (int mask = 1; mask < kScanLanes; mask *= 2) {
    const typename Scan::State other = total->Shuffle(mask);
    if (lane & mask) {
      *before = scan.Join(other, *before);
      *total = scan.Join(other, *total);
    } else {
      *total = scan.Join(*total, other);
    }
  }
}

// The column, or row of one column, of a thread. Blocks have no more than one,
// and their indices tell which: a division of 64 bits is a call, around which
// registers spill.
template <typename Scan, bool kRows>
struct ScanStrip {
  typename Scan::Place place;
  bool is_there;

  __device__ ScanStrip(const Scan& scan, int64_t first_row) {
    const int64_t column =
        kRows ? 0 : int64_t{blockIdx.x} * kScanLanes + threadIdx.x;
    is_there = kRows || column < scan.columns;
    place = scan.At(first_row + (kRows ? blockIdx.x : blockIdx.y),
                    is_there ? column : 0);
  }
};

template <typename Scan, bool kRows>
struct ScanShared {
  static constexpr int kColumns = kRows ? 1 : kScanLanes;

  typename Scan::State totals[kMostScanWarps][kColumns];
  typename Scan::Carry carry[2][kColumns];
  int unsure[2];
};

// What this thread has of a tile: `count` steps from `first` on.
template <typename Scan, bool kRows>
struct TileSteps {
  int64_t first;
  int count;
  typename Scan::Loaded loaded;

  __device__ TileSteps(const Scan& scan, const ScanStrip<Scan, kRows>& strip,
                       int64_t tile, int64_t end) {
    const int thread =
        kRows ? threadIdx.y * kScanLanes + threadIdx.x : threadIdx.y;
    first = tile + thread * Scan::kSteps;
    const int64_t rest = strip.is_there ? end - first : 0;
    count = rest < 0
                ? 0
                : (rest < Scan::kSteps ? static_cast<int>(rest) : Scan::kSteps);
    scan.template Load<kRows>(strip.place, first, count, &loaded);
  }
};

// Makes the states of a tile's warps, in `totals`; `before` is what the lanes
// before this one make.
template <bool kRows, typename Scan>
__device__ inline void ShareStates(const Scan& scan,
                                   const typename Scan::Item* items, int count,
                                   ScanShared<Scan, kRows>& shared,
                                   typename Scan::State* before) {
  typename Scan::Local local{};
#pragma unroll
  for (int i = 0; i < Scan::kSteps; ++i) {
    if (i < count) scan.Add(items[i], &local);
  }
  typename Scan::State total = scan.Whole(local);
  if constexpr (kRows) {
    ScanWarp(scan, before, &total);
    if (threadIdx.x == 0) shared.totals[threadIdx.y][0] = total;
  } else {
    shared.totals[threadIdx.y][threadIdx.x] = total;
  }
  __syncthreads();
}

// Writes what each piece but the last one makes to the memory of its results.
template <typename Args, bool kRows>
__device__ inline void SaveTotals(const Args& args) {
  using Scan = typename Args::Scan;
  using State = typename Scan::State;
  using Shared = ScanShared<Scan, kRows>;
  Shared& shared = *SharedMemory<Shared>();
  const Scan& scan = args.scan;
  const int lane = kRows ? 0 : threadIdx.x;
  const int64_t begin = args.Begin(blockIdx.z), end = args.End(blockIdx.z);
  const int64_t size =
      int64_t{Scan::kSteps} * blockDim.y * (kRows ? kScanLanes : 1);
  const ScanStrip<Scan, kRows> strip(scan, args.first_row);
  State all{};
  TileSteps<Scan, kRows> next(scan, strip, begin, end);
  for (int64_t tile = begin; tile < end; tile += size) {
    const int count = next.count;
    typename Scan::Item items[Scan::kSteps];
    scan.template Read<kRows>(next.loaded, items);
    next = TileSteps<Scan, kRows>(scan, strip, tile + size, end);
    State before;
    ShareStates<kRows>(scan, items, count, shared, &before);
    if (threadIdx.y == 0) {
      for (int w = 0; w < static_cast<int>(blockDim.y); ++w) {
        all = scan.Join(all, shared.totals[w][lane]);
      }
    }
    __syncthreads();
  }
  if (threadIdx.y == 0 && strip.is_there && (!kRows || threadIdx.x == 0)) {
    scan.SaveTotal(strip.place, begin, all);
  }
}

template <typename Args, bool kRows>
__device__ inline void ScanTiles(const Args& args) {
  using Scan = typename Args::Scan;
  using Carry = typename Scan::Carry;
  using Shared = ScanShared<Scan, kRows>;
  Shared& shared = *SharedMemory<Shared>();
  const Scan& scan = args.scan;
  const int lane = kRows ? 0 : threadIdx.x;
  const int warps = blockDim.y;
  const bool is_first = threadIdx.y == 0 && (!kRows || threadIdx.x == 0);
  const bool is_last = static_cast<int>(threadIdx.y) == warps - 1 &&
                       (!kRows || threadIdx.x == kScanLanes - 1);
  const int64_t begin = args.Begin(blockIdx.z), end = args.End(blockIdx.z);
  const int64_t size = int64_t{Scan::kSteps} * warps * (kRows ? kScanLanes : 1);
  const ScanStrip<Scan, kRows> strip(scan, args.first_row);
  if (threadIdx.x == 0 && threadIdx.y == 0) shared.unsure[0] = 0;
  if (is_first) {
    shared.carry[0][lane] = args.pieces == 1
                                ? scan.Start(strip.place)
                                : Saved<Carry>(scan, strip.place, begin);
  }
  int turn = 0;
  TileSteps<Scan, kRows> next(scan, strip, begin, end);
  for (int64_t tile = begin; tile < end; tile += size, turn = 1 - turn) {
    const int64_t first = next.first;
    const int count = next.count;
    typename Scan::Item items[Scan::kSteps];
    scan.template Read<kRows>(next.loaded, items);
    // Memory works while threads compute, and wait for each other. They would
    // wait for it here if what is loaded were converted here.
    next = TileSteps<Scan, kRows>(scan, strip, tile + size, end);
    typename Scan::State before;
    ShareStates<kRows>(scan, items, count, shared, &before);

    const Carry start = shared.carry[turn][lane];
    Carry carry = start;
    for (int w = 0; w < static_cast<int>(threadIdx.y); ++w) {
      carry = scan.After(shared.totals[w][lane], carry);
    }
    if constexpr (kRows) carry = scan.After(before, carry);
    typename Scan::Result results[Scan::kSteps];
#pragma unroll
    for (int i = 0; i < Scan::kSteps; ++i) {
      if (i < count) carry = scan.Step(items[i], carry);
      results[i] = scan.ResultOf(carry);
    }
    // What is infinite or NaN stays so: the last step tells.
    if constexpr (!Scan::kIsAlwaysSure) {
      if (!scan.IsSure(start, carry) && strip.is_there) {
        shared.unsure[turn] = 1;
      }
      if (threadIdx.x == 0 && threadIdx.y == 0) shared.unsure[1 - turn] = 0;
    }
    if (is_last) shared.carry[1 - turn][lane] = carry;
    __syncthreads();
    if (Scan::kIsAlwaysSure || shared.unsure[turn] == 0) {
      scan.template Store<kRows>(strip.place, first, count, results);
      continue;
    }
    if constexpr (!Scan::kIsAlwaysSure) {
      if (is_first && strip.is_there) {
        const int64_t tile_end = end - tile < size ? end : tile + size;
        shared.carry[1 - turn][lane] =
            PlainSteps(scan, strip.place, tile, tile_end, start);
      }
      __syncthreads();
    }
  }
}

template <typename Args, bool kRows>
__global__ void __launch_bounds__(kScanLanes* kMostScanWarps, 1)
    ScanKernel(const __grid_constant__ Args args) {
  ScanTiles<Args, kRows>(args);
}
template <typename Args, bool kRows>
__global__ void __launch_bounds__(kScanLanes* kMostScanWarps, 1)
    TotalsKernel(const __grid_constant__ Args args) {
  SaveTotals<Args, kRows>(args);
}

// Turns what pieces make into what is before them. A thread has a column, and
// reads several states at once: else it would wait for each of them.
template <typename Args>
__global__ void __launch_bounds__(128, 4)
    JoinPiecesKernel(const __grid_constant__ Args args) {
  using Scan = typename Args::Scan;
  using State = typename Scan::State;
  using Carry = typename Scan::Carry;
  constexpr int kAtOnce = 4;  // more of complex numbers spill
  const Scan& scan = args.scan;
  const int64_t column = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (column >= scan.columns) return;
  const typename Scan::Place place =
      scan.At(args.first_row + blockIdx.y, column);
  Carry carry = scan.Start(place);
  for (int64_t piece = 0; piece < args.pieces - 1; piece += kAtOnce) {
    const int64_t rest = args.pieces - 1 - piece;
    State states[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      if (i >= rest) break;
      states[i] = Saved<State>(scan, place, args.Begin(piece + i));
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      if (i >= rest) break;
      Save(scan, place, args.Begin(piece + i), carry);
      carry = scan.After(states[i], carry);
    }
  }
  Save(scan, place, args.Begin(args.pieces - 1), carry);
}

// Whether the results from step i on go on from those before it.
template <typename Scan>
__device__ inline bool GoesOn(const Scan& scan,
                              const typename Scan::Place& place, int64_t i) {
  using Carry = typename Scan::Carry;
  const Carry before = scan.CarryAt(place, i - 1);
  const Carry after = scan.CarryAt(place, i);
  if (scan.IsOrdinary(before) && scan.IsOrdinary(after)) return true;
  // What is infinite may have been finite before it was rounded.
  if (Scan::kRoundsCarry) return IsNan(before) && IsNan(after);
  return AreSame(after, scan.Step(scan.LoadOne(place, i), before));
}

// Computes the columns by a plain loop in which pieces do not go on from each
// other.
template <typename Args>
__global__ void __launch_bounds__(128, 4)
    MendPiecesKernel(const __grid_constant__ Args args) {
  using Scan = typename Args::Scan;
  const Scan& scan = args.scan;
  const int64_t column = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (column >= scan.columns) return;
  const typename Scan::Place place =
      scan.At(args.first_row + blockIdx.y, column);
  for (int64_t piece = 1; piece < args.pieces; ++piece) {
    if (GoesOn(scan, place, args.Begin(piece))) continue;
    PlainSteps(scan, place, 0, scan.n, scan.Start(place));
    break;
  }
}

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SCANS_CUDA_SCAN_TILES_CUH_
