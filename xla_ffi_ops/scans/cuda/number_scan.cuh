// SPDX-License-Identifier: Apache-2.0
// Scans of numbers of any dtype. What elements are combined in is a type; how
// they are in memory is known when a kernel runs. An Op has these:
//
//   using Item, State, Carry, Result;      // as in scan_tiles.cuh
//   static constexpr bool kIsAlwaysSure;   // likewise
//   explicit Op(NumberFormat);
//   void Decode(const Word (&)[kSize], Item (&)[kSize]);
//   void Encode(const Result (&)[kSize], Word (&)[kSize]);
//   Carry First(const void* starts, int64_t i);  // starts may be null
//   void SetTotal(void* totals, int64_t i, State);
//
// and of scan_tiles.cuh: Add, Join, After, Step, ResultOf; if it is not always
// sure IsSure and IsOrdinary, and for the host MayBeUnsure.
#ifndef XLA_FFI_OPS_SCANS_CUDA_NUMBER_SCAN_CUH_
#define XLA_FFI_OPS_SCANS_CUDA_NUMBER_SCAN_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "xla_ffi_ops/cuda/stream_device.cuh"
#include "xla_ffi_ops/scans/cuda/launch_scan.cuh"
#include "xla_ffi_ops/scans/cuda/scan_tiles.cuh"
#include "xla_ffi_ops/scans/cuda/words.cuh"
#include "xla_ffi_ops/scans/scan_call.h"
#include "xla_ffi_ops/vec/convert.cuh"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/float16.h"

namespace xla_ffi_ops {
namespace internal {

// Calls fn with the floating-point type of a format.
template <typename Fn>
__device__ inline void WithFloat(NumberFormat format, Fn fn) {
  if (format.bytes == 8) {
    fn(double());
  } else if (format.bytes == 4) {
    fn(float());
  } else if (format.kind == NumberFormat::kBrainFloat) {
    fn(BFloat16());
  } else {
    fn(Float16());
  }
}

template <typename To>
__device__ inline To FromWord(Word word) {
  To value;
  memcpy(&value, &word, sizeof(value));
  return value;
}
template <typename From>
__device__ inline Word ToWord(From value) {
  Word word = 0;
  memcpy(&word, &value, sizeof(value));
  return word;
}

// Floating-point numbers as E, which may have fewer bits.
template <typename E, int kSize>
__device__ inline void DecodeFloats(NumberFormat format,
                                    const Word (&words)[kSize],
                                    E (&values)[kSize]) {
  WithFloat(format, [&](auto type) {
#pragma unroll
    for (int i = 0; i < kSize; ++i) {
      values[i] = static_cast<E>(Widen(FromWord<decltype(type)>(words[i])));
    }
  });
}
template <typename E, int kSize>
__device__ inline void EncodeFloats(NumberFormat format,
                                    const E (&values)[kSize],
                                    Word (&words)[kSize]) {
  WithFloat(format, [&](auto type) {
#pragma unroll
    for (int i = 0; i < kSize; ++i) {
      words[i] = ToWord(RoundTo<decltype(type)>(values[i]));
    }
  });
}

template <typename N>
__device__ inline N Shuffled(N x, int mask) {
  return __shfl_xor_sync(0xffffffffu, x, mask);
}

// Floating-point numbers that are combined in double.
struct Doubles {
  using Number = double;

  NumberFormat format;

  template <int kSize>
  __device__ void Decode(const Word (&words)[kSize],
                         double (&values)[kSize]) const {
    DecodeFloats(format, words, values);
  }
  template <int kSize>
  __device__ void Encode(const double (&values)[kSize],
                         Word (&words)[kSize]) const {
    EncodeFloats(format, values, words);
  }
  __device__ double Start(const void* starts, int64_t i) const {
    return static_cast<const double*>(starts)[i];
  }
  __device__ void SetTotal(void* totals, int64_t i, double total) const {
    static_cast<double*>(totals)[i] = total;
  }
};

// Integers that wrap: the low bits of sums and products are those of the low
// bits.
struct Integers {
  using Number = Word;

  NumberFormat format;

  template <int kSize>
  __device__ void Decode(const Word (&words)[kSize],
                         Word (&values)[kSize]) const {
#pragma unroll
    for (int i = 0; i < kSize; ++i) values[i] = words[i];
  }
  template <int kSize>
  __device__ void Encode(const Word (&values)[kSize],
                         Word (&words)[kSize]) const {
    Decode(values, words);
  }
  __device__ Word Start(const void* starts, int64_t i) const {
    return LoadWord(starts, format.bytes, i);
  }
  __device__ void SetTotal(void* totals, int64_t i, Word total) const {
    StoreWord(totals, format.bytes, i, total);
  }
};

// An Op whose states are single numbers. Numbers says what they are in memory.
// Combine is a function of two, and has an Identity().
template <typename Numbers, typename Combine>
struct NumberOp : Numbers {
  using Number = typename Numbers::Number;
  using Item = Number;
  using Carry = Number;
  using Result = Number;
  struct State {
    Number value = Combine::template Identity<Number>();

    __device__ State Shuffle(int mask) const { return {Shuffled(value, mask)}; }
  };
  static constexpr bool kIsAlwaysSure = true;

  explicit NumberOp(NumberFormat format) : Numbers{format} {}

  __device__ Number First(const void* starts, int64_t i) const {
    return starts == nullptr ? State().value : this->Start(starts, i);
  }
  __device__ void SetTotal(void* totals, int64_t i, const State& state) const {
    Numbers::SetTotal(totals, i, state.value);
  }
  __device__ void Add(Number item, State* state) const {
    state->value = Step(item, state->value);
  }
  __device__ State Join(const State& sooner, const State& later) const {
    return {Step(later.value, sooner.value)};
  }
  __device__ Number After(const State& state, Number before) const {
    return Step(state.value, before);
  }
  __device__ Number Step(Number item, Number before) const {
    return Combine()(before, item);
  }
  __device__ Number ResultOf(Number number) const { return number; }
};

template <typename Op>
struct NumberScan : Op {
  using Item = typename Op::Item;
  using State = typename Op::State;
  using Carry = typename Op::Carry;
  using Result = typename Op::Result;
  using Local = State;
  struct Place {
    const char* x;
    char* y;
    int64_t index;
  };
  static constexpr int kSteps = 8;
  using Loaded = LoadedWords<kSteps>;

  int64_t n, columns;
  ScanCall call;
  bool totals;   // whether these are wanted
  bool vectors;  // whether all of rows may be accessed by them

  NumberScan(const ScanCall& asked, bool wants_totals)
      : Op(asked.format),
        n(asked.n),
        columns(asked.columns),
        call(asked),
        totals(wants_totals) {
    const int bytes = call.format.bytes;
    vectors = columns == 1 && n > 1 && HasWordVectors(call.x, bytes, n) &&
              (totals || HasWordVectors(call.y, bytes, n));
  }

  __device__ int SlotBytes() const { return call.format.bytes; }
  __device__ Place At(int64_t row, int64_t column) const {
    const int64_t at = (row * n * columns + column) * call.format.bytes;
    return {static_cast<const char*>(call.x) + at,
            static_cast<char*>(call.y) + at, row * columns + column};
  }
  __device__ char* Slot(const Place& place, int64_t i) const {
    return place.y +
           (call.reverse ? n - 1 - i : i) * columns * call.format.bytes;
  }

  template <bool kRows>
  __device__ void Load(const Place& place, int64_t first, int count,
                       Loaded* loaded) const {
    LoadWords<kRows>(StepsAt(place.x), first, count, vectors, loaded);
  }
  template <bool kRows>
  __device__ void Read(const Loaded& loaded, Item (&items)[kSteps]) const {
    Word words[kSteps];
    ReadWords<kRows>(StepsAt(call.x), vectors, loaded, words);
    this->Decode(words, items);
  }
  __device__ Item LoadOne(const Place& place, int64_t i) const {
    return ItemAt(place.x, i);
  }
  // Only scans of 64 bits may be unsure.
  static constexpr bool kRoundsCarry = false;
  __device__ Carry CarryAt(const Place& place, int64_t i) const {
    return ItemAt(place.y, i);
  }
  template <bool kRows>
  __device__ void Store(const Place& place, int64_t first, int count,
                        const Result (&results)[kSteps]) const {
    Word words[kSteps];
    this->Encode(results, words);
    StoreWords<kRows>(StepsAt(place.y), first, count, vectors, words);
  }
  __device__ void StoreOne(const Place& place, int64_t i, Result result) const {
    const Result results[1] = {result};
    Word words[1];
    this->Encode(results, words);
    StoreWords<false>(StepsAt(place.y), i, 1, false, words);
  }
  __device__ void SaveTotal(const Place& place, int64_t begin,
                            const State& state) const {
    if (totals) {
      this->SetTotal(call.y, place.index, state);
    } else {
      Save(*this, place, begin, state);
    }
  }

  __device__ State Whole(const Local& local) const { return local; }
  __device__ Carry Start(const Place& place) const {
    return this->First(call.starts, place.index);
  }

 private:
  __device__ Item ItemAt(const void* data, int64_t i) const {
    const int64_t at = (call.reverse ? n - 1 - i : i) * columns;
    const Word words[1] = {LoadWord(data, call.format.bytes, at)};
    Item items[1];
    this->Decode(words, items);
    return items[0];
  }
  __device__ WordSteps StepsAt(const void* data) const {
    return {data, call.format.bytes, n, columns, call.reverse};
  }
};

}  // namespace internal

template <typename Op>
void LaunchNumberScan(Cuda device, const ScanCall& call) {
  if (call.n == 0 || call.rows == 0 || call.columns == 0) return;
  const StreamDevice current(device.stream);
  const internal::NumberScan<Op> scan(call, /*wants_totals=*/false);
  if (call.columns > 1) {
    LaunchScan<false>(current, device.stream, scan, call.rows);
  } else {
    LaunchScan<true>(current, device.stream, scan, call.rows);
  }
}

// One block computes a row, or 32 columns.
template <typename Op>
void LaunchNumberTotals(Cuda device, const ScanCall& call) {
  if (call.rows == 0 || call.columns == 0) return;
  const StreamDevice current(device.stream);
  const internal::NumberScan<Op> scan(call, /*wants_totals=*/true);
  if (call.columns > 1) {
    LaunchTotals<false>(device.stream, scan, call.rows);
  } else {
    LaunchTotals<true>(device.stream, scan, call.rows);
  }
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_SCANS_CUDA_NUMBER_SCAN_CUH_
