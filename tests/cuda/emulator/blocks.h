// SPDX-License-Identifier: Apache-2.0
// The threads of blocks that run at once, and which of them is next.
#ifndef XLA_FFI_OPS_TESTS_CUDA_EMULATOR_BLOCKS_H_
#define XLA_FFI_OPS_TESTS_CUDA_EMULATOR_BLOCKS_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tests/cuda/emulator/emulator.h"
#include "tests/cuda/emulator/fiber.h"

namespace emulator {

inline constexpr unsigned kWarp = 32;
inline constexpr int kBarriers = 16;
inline constexpr size_t kMaxSharedBytes = 48 * 1024;

struct Block;

struct Thread {
  Block* block;
  unsigned rank;
  Fiber fiber;
};

struct Waiting {
  unsigned kind = 0;
  std::vector<Thread*> threads;
};

struct Warp {
  // Two sets, by turns, as some lanes may be one call ahead of others.
  unsigned char values[2][kWarp][8];
  unsigned calls = 0;
  Waiting waiting;  // for a kind of shuffle
};

struct Block {
  uint3 index;
  std::vector<unsigned char> shared;  // while another block runs
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  Waiting barriers[kBarriers];
  unsigned running;  // threads
};

class Cluster {
 public:
  // The blocks from `first` on, whose threads call kernel().
  Cluster(uint3 first, const Launch& launch,
          const std::function<void()>& kernel);

  // Runs all threads. Returns what went wrong, or nothing.
  std::string Run(std::mt19937& random);

  // The others are for the thread that runs.
  static Cluster& Current();
  Thread& thread() { return *thread_; }
  size_t size() const { return blocks_.size(); }

  // The shared memory of a block.
  unsigned char* SharedOf(Block& block);
  Block& block(size_t rank) { return blocks_[rank]; }

  // Waits for `count` threads, for which `kind` has to be the same.
  void WaitAt(Waiting& waiting, unsigned count, unsigned kind);

  void Sleep();
  void WakeAll() { Wake(asleep_); }
  void Fail(const std::string& what);

  Waiting barrier;  // of all threads

 private:
  static void RunThread();
  void Add(uint3 index, size_t shared_bytes);
  void Resume(Thread* thread);
  void Wake(std::vector<Thread*>& threads);

  const std::function<void()>& kernel_;
  std::deque<Block> blocks_;
  std::vector<Thread*> ready_;
  std::vector<Thread*> asleep_;
  Thread* thread_ = nullptr;
  Block* resident_ = nullptr;  // whose shared memory is in its place
  std::string error_;
};

}  // namespace emulator

#endif  // XLA_FFI_OPS_TESTS_CUDA_EMULATOR_BLOCKS_H_
