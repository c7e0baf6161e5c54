// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulator/emulator.h"

#include <algorithm>
#include <cfenv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iterator>
#include <memory>
#include <mutex>
#include <random>
#include <utility>
#include <vector>

#include "tests/cuda/emulator/fiber.h"

dim3 gridDim, blockDim;
uint3 blockIdx, threadIdx;

namespace xla_ffi_ops {

// What `extern __shared__` declares there: that of the block that runs.
inline constexpr size_t kMaxSharedBytes = 48 * 1024;
alignas(16) unsigned char memory[kMaxSharedBytes];

}  // namespace xla_ffi_ops

namespace emulator {
namespace {

using xla_ffi_ops::kMaxSharedBytes;
using xla_ffi_ops::memory;

constexpr unsigned kWarp = 32;
constexpr int kBarriers = 16;
constexpr unsigned char kUnwritten = 0xff;  // NaN in all types

struct Block;

struct Thread {
  Block* block;
  unsigned rank;
  bool done = false;
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

struct Cluster {
  std::deque<Block> blocks;
  std::vector<Thread*> ready;
  std::vector<Thread*> asleep;
  Waiting barrier;
};

const std::function<void()>* kernel_;
Cluster* cluster_;
Thread* current_;
Block* resident_;  // whose shared memory `memory` is
std::string error_;
std::vector<std::unique_ptr<char[]>> stacks_;
std::mt19937 random_;

void Suspend() { current_->fiber.Suspend(); }

void Wake(std::vector<Thread*>& threads) {
  cluster_->ready.insert(cluster_->ready.end(), threads.begin(), threads.end());
  threads.clear();
}

// Waits for `count` threads, for which `kind` has to be the same.
void WaitAt(Waiting& barrier, unsigned count, unsigned kind) {
  if (barrier.threads.empty()) barrier.kind = kind;
  if (barrier.kind != kind) Fail("threads wait for different things");
  barrier.threads.push_back(current_);
  if (barrier.threads.size() == count) Wake(barrier.threads);
  Suspend();
}

void RunThread() {
  (*kernel_)();
  current_->done = true;
  --current_->block->running;
  Suspend();
}

void Resume(Thread* thread) {
  Block* const block = thread->block;
  if (resident_ != block) {
    if (resident_) {
      std::copy_n(memory, resident_->shared.size(), resident_->shared.data());
    }
    std::copy(block->shared.begin(), block->shared.end(), memory);
    resident_ = block;
  }
  current_ = thread;
  blockIdx = block->index;
  threadIdx.x = thread->rank % blockDim.x;
  threadIdx.y = thread->rank / blockDim.x % blockDim.y;
  threadIdx.z = thread->rank / blockDim.x / blockDim.y;
  thread->fiber.Resume();
}

void AddBlock(uint3 index, size_t shared_bytes) {
  const unsigned size = blockDim.x * blockDim.y * blockDim.z;
  Block& block = cluster_->blocks.emplace_back();
  block.index = index;
  block.shared.assign(shared_bytes, kUnwritten);
  block.warps.resize(size / kWarp);
  block.threads.resize(size);
  block.running = size;
  const size_t first_stack = (cluster_->blocks.size() - 1) * size;
  while (stacks_.size() < first_stack + size) {
    stacks_.emplace_back(new char[Fiber::kStackBytes]);
  }
  for (unsigned rank = 0; rank < size; ++rank) {
    Thread& thread = block.threads[rank];
    thread.block = &block;
    thread.rank = rank;
    thread.fiber.Prepare(RunThread, stacks_[first_stack + rank].get());
    cluster_->ready.push_back(&thread);
  }
}

// Runs the blocks of a cluster, of which `first` is the first.
void RunCluster(uint3 first, const Launch& launch) {
  Cluster cluster;
  cluster_ = &cluster;
  resident_ = nullptr;
  unsigned char* const behind = memory + launch.shared_bytes;
  std::fill(behind, std::end(memory), kUnwritten);
  for (unsigned i = 0; i < launch.cluster; ++i) {
    AddBlock({first.x + i, first.y, first.z}, launch.shared_bytes);
  }
  std::vector<Thread*>& ready = cluster.ready;
  size_t done = 0;
  // Or a thread goes on as far as it can before another one begins.
  const bool in_random_order = random_() % 2;
  while (!ready.empty()) {
    if (in_random_order) {
      std::swap(ready[random_() % ready.size()], ready.back());
    }
    Thread* const thread = ready.back();
    ready.pop_back();
    Resume(thread);
    if (!error_.empty()) return;
    done += thread->done;
  }
  if (done < launch.cluster * cluster.blocks[0].threads.size()) {
    error_ = "threads wait for others that do not come";
    return;
  }
  if (std::any_of(behind, std::end(memory),
                  [](unsigned char byte) { return byte != kUnwritten; })) {
    error_ = "a block wrote behind its shared memory";
  }
}

bool IsPossible(const Launch& launch) {
  const dim3& block = launch.block;
  const dim3& grid = launch.grid;
  const uint64_t threads = uint64_t{block.x} * block.y * block.z;
  return threads > 0 && threads <= 1024 && block.z <= 64 && grid.x > 0 &&
         grid.x < 1u << 31 && grid.y > 0 && grid.y < 1 << 16 && grid.z > 0 &&
         grid.z < 1 << 16 && launch.shared_bytes <= kMaxSharedBytes &&
         grid.x % launch.cluster == 0;
}

}  // namespace

std::string Run(const Launch& launch, const std::function<void()>& kernel) {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  if (!IsPossible(launch)) return "no device can run the launch";
  if (launch.block.x * launch.block.y * launch.block.z % kWarp) {
    return "the last warp of a block is not full, which is not modelled";
  }
  gridDim = launch.grid;
  blockDim = launch.block;
  kernel_ = &kernel;
  error_.clear();
  std::vector<uint3> clusters;
  for (unsigned z = 0; z < gridDim.z; ++z) {
    for (unsigned y = 0; y < gridDim.y; ++y) {
      for (unsigned x = 0; x < gridDim.x; x += launch.cluster) {
        clusters.push_back({x, y, z});
      }
    }
  }
  std::shuffle(clusters.begin(), clusters.end(), random_);
  std::fenv_t environment;
  std::fegetenv(&environment);
  std::fesetenv(FE_DFL_ENV);  // Subnormals are numbers to a GPU.
  for (const uint3& first : clusters) {
    if (error_.empty()) RunCluster(first, launch);
  }
  std::fesetenv(&environment);
  return error_;
}

void Barrier(int id, unsigned count) {
  if (id < 0 || id >= kBarriers || count == 0 || count % kWarp) {
    Fail("a block has no such barrier");
  }
  WaitAt(current_->block->barriers[id], count, count);
}

void ClusterBarrier() {
  WaitAt(cluster_->barrier,
         cluster_->blocks.size() * current_->block->threads.size(), 0);
}

void Shuffle(void* value, size_t bytes, int lane_mask) {
  Warp& warp = current_->block->warps[current_->rank / kWarp];
  const unsigned lane = current_->rank % kWarp;
  if (lane_mask < 0 || lane_mask >= int{kWarp}) Fail("a warp has no such lane");
  auto& values = warp.values[warp.calls % 2];
  std::memcpy(values[lane], value, bytes);
  if (warp.waiting.threads.size() == kWarp - 1) ++warp.calls;
  WaitAt(warp.waiting, kWarp, lane_mask);
  std::memcpy(value, values[lane ^ lane_mask], bytes);
}

void Sleep() {
  cluster_->asleep.push_back(current_);
  Suspend();
}

void WakeAll() { Wake(cluster_->asleep); }

void* AddressIn(unsigned block, void* pointer, size_t bytes) {
  if (block >= cluster_->blocks.size()) Fail("the cluster has no such block");
  Block& other = cluster_->blocks[block];
  if (other.running == 0) Fail("a block of the cluster has ended");
  const size_t offset = static_cast<unsigned char*>(pointer) - memory;
  if (offset >= other.shared.size() || other.shared.size() - offset < bytes) {
    Fail("a block has no such shared memory");
  }
  return (&other == resident_ ? memory : other.shared.data()) + offset;
}

void Fail(const std::string& what) {
  error_ = what;
  Suspend();
  std::abort();  // Not reached: the run has ended.
}

}  // namespace emulator
