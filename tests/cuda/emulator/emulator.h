// SPDX-License-Identifier: Apache-2.0
// Runs a CUDA kernel on the CPU, to find out whether what it computes is right:
// every thread of the kernel is a fiber, and which of those that can go on does
// so next is random, or the one that could not until last. A thread that reads
// what it did not wait for then finds it missing, sooner or later. Shared
// memory is NaN before a block begins, and a block that uses more of it than it
// asked for is an error, as is a barrier to which not all threads come.
//
// Clusters are modelled too: their blocks run at once, other blocks one after
// another in random order. A device's memory model is not: threads see what
// others wrote at once, and whole.
#ifndef XLA_FFI_OPS_TESTS_CUDA_EMULATOR_EMULATOR_H_
#define XLA_FFI_OPS_TESTS_CUDA_EMULATOR_EMULATOR_H_

#include <cstddef>
#include <functional>
#include <string>

struct dim3 {
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1)
      : x(x), y(y), z(z) {}

  unsigned x, y, z;
};

struct uint3 {
  unsigned x, y, z;
};

// Of the thread that runs.
extern dim3 gridDim, blockDim;
extern uint3 blockIdx, threadIdx;

namespace emulator {

struct Launch {
  dim3 grid;
  dim3 block;
  size_t shared_bytes;
  unsigned cluster;  // how many blocks along x
};

// Calls kernel() for all threads. Returns what is wrong with it, or nothing.
std::string Run(const Launch& launch, const std::function<void()>& kernel);

// The others are called by the kernel's threads.

// Waits for `count` threads of the block at one of its 16 barriers.
void Barrier(int id, unsigned count);

// Waits for all threads of the cluster.
void ClusterBarrier();

// Replaces `bytes` bytes, 8 at most, by those of the lane whose number differs
// in the bits of `lane_mask`. All lanes of a warp have to call it.
void Shuffle(void* value, size_t bytes, int lane_mask);

// Waits until another thread calls WakeAll().
void Sleep();
void WakeAll();

// Where the variable at `pointer` of shared memory is in another block of the
// cluster.
void* AddressIn(unsigned block, void* pointer);

// Ends the run with an error.
[[noreturn]] void Fail(const std::string& what);

}  // namespace emulator

#endif  // XLA_FFI_OPS_TESTS_CUDA_EMULATOR_EMULATOR_H_
