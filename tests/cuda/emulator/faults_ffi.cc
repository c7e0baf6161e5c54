// SPDX-License-Identifier: Apache-2.0
// A kernel with one of the faults that the emulator is there to find, or none.
// clang-format off: both files take the place of what others use.
#include "tests/cuda/emulator/cluster.cuh"
#include "tests/cuda/emulator/handlers.h"
// clang-format on

#include <cstddef>
#include <cstdint>

#include "xla_ffi_ops/cuda/launch.cuh"
#include "xla_ffi_ops/cuda/shared_memory.cuh"
#include "xla_ffi_ops/cuda/stream_device.cuh"
#include "xla_ffi_ops/rows/cuda/row_threads.cuh"

namespace xla_ffi_ops {
namespace {

enum Fault : int64_t {
  kNone,
  kNoBarrier,
  kNoClusterBarrier,
  kSendToAnEndedBlock,
  kNoExpect,
  kBarrierOfSome,
  kShuffleOfSome,
  kShufflesDiffer,
  kTooMuchSharedMemory,
  kSendBehindSharedMemory,
  kTooManyThreads,
};

constexpr int kThreads = 64;

struct Shared {
  ClusterBarrier barrier;
  float received;
  float values[kThreads];
  float behind;
};

struct Args {
  int64_t fault;
  const float* x;
  float* y;
};

// Reverses [2, kThreads] floats, adds to each the one beside it, and to these
// the first of the other row.
__global__ void FaultsKernel(const __grid_constant__ Args args) {
  const int thread = threadIdx.x;
  const int64_t fault = args.fault;
  const float x = args.x[ThreadInRow()];
  Shared& shared = *SharedMemory<Shared>();
  if (thread == 0) Init(&shared.barrier);
  if (fault != kNoClusterBarrier) ClusterSync();
  if (thread == 0) {
    if (fault != kNoExpect) Expect(&shared.barrier, sizeof(float));
    float* const to =
        fault == kSendBehindSharedMemory ? &shared.behind : &shared.received;
    Send(1 - blockIdx.x, to, x, &shared.barrier);
  }

  shared.values[thread] = x;
  if (fault == kTooMuchSharedMemory) shared.behind = 0;
  if (fault == kBarrierOfSome && thread < kWarp) return;
  if (fault != kNoBarrier) __syncthreads();
  float y = shared.values[kThreads - 1 - thread];
  if (fault == kShuffleOfSome && thread == 0) return;
  const int mask = fault == kShufflesDiffer && thread == 0 ? 2 : 1;
  y += __shfl_xor_sync(kAllLanes, y, mask);

  if (fault == kSendToAnEndedBlock) {
    if (blockIdx.x == 1) return;
    for (int i = 0; i < 100; ++i) __syncthreads();
    Send(1, &shared.received, x, &shared.barrier);
  }
  Wait(&shared.barrier, 0);
  args.y[ThreadInRow()] = y + shared.received;
}

template <typename Device>
HandlerResult Faults(Device device, int64_t fault, ffi::BufferR2<ffi::F32> x,
                     ffi::Result<ffi::BufferR2<ffi::F32>> y) {
  const StreamDevice current(device.stream);
  LaunchShape shape;
  shape.cluster = 2;
  shape.grid = dim3(shape.cluster);
  shape.block = dim3(fault == kTooManyThreads ? 2048 : kThreads);
  shape.shared_bytes = offsetof(Shared, behind);
  Launch("FaultsKernel", FaultsKernel, shape, device.stream,
         Args{fault, x.typed_data(), y->typed_data()});
  return ffi::Error::Success();
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(faults, Faults,
                           .Attr<int64_t>("fault")
                               .Arg<ffi::BufferR2<ffi::F32>>()    // x
                               .Ret<ffi::BufferR2<ffi::F32>>());  // y

}  // namespace xla_ffi_ops
