// SPDX-License-Identifier: Apache-2.0
// Runs a CUDA kernel on the CPU, to find out whether what it computes is right.
// Every thread of the kernel is a fiber. Of those that can go on, a random one
// does so next in half of the clusters, and in the others the one that could
// not until last: a thread that does not wait for what it reads then finds it
// missing, sooner or later. The same launches have the same orders in every
// run. Shared memory and results are NaN at first. It is an error to write
// behind the shared memory that a block asked for, or to wait for threads that
// do not come.
//
// Blocks of a cluster run at once, and other blocks one after another in random
// order. What is not modelled: the memory model (threads see what others wrote
// at once, and whole), alignment, launch bounds, registers.
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
// in the bits of `lane_mask`. All lanes of a warp have to call it, alike.
void Shuffle(void* value, size_t bytes, int lane_mask);

// Waits until another thread calls WakeAll().
void Sleep();
void WakeAll();

// Where the `bytes` bytes at `pointer` of shared memory are in another block of
// the cluster, of which threads have to run still.
void* AddressIn(unsigned block, void* pointer, size_t bytes);

// Ends the run with an error.
[[noreturn]] void Fail(const std::string& what);

}  // namespace emulator

#endif  // XLA_FFI_OPS_TESTS_CUDA_EMULATOR_EMULATOR_H_
