// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulator/blocks.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

dim3 gridDim, blockDim;
uint3 blockIdx, threadIdx;

namespace xla_ffi_ops {

// What `extern __shared__` declares there: that of the block that runs.
alignas(16) unsigned char memory[emulator::kMaxSharedBytes];

}  // namespace xla_ffi_ops

namespace emulator {
namespace {

using xla_ffi_ops::memory;

constexpr unsigned char kUnwritten = 0xff;  // NaN in all types

Cluster* cluster_;

char* Stack(size_t i) {
  static std::vector<std::unique_ptr<char[]>> stacks;
  while (stacks.size() <= i) {
    stacks.emplace_back(new char[Fiber::kStackBytes]);
  }
  return stacks[i].get();
}

}  // namespace

Cluster::Cluster(uint3 first, const Launch& launch,
                 const std::function<void()>& kernel)
    : kernel_(kernel) {
  for (unsigned i = 0; i < launch.cluster; ++i) {
    Add({first.x + i, first.y, first.z}, launch.shared_bytes);
  }
}

void Cluster::Add(uint3 index, size_t shared_bytes) {
  const unsigned size = blockDim.x * blockDim.y * blockDim.z;
  const size_t first_stack = blocks_.size() * size;
  Block& block = blocks_.emplace_back();
  block.index = index;
  block.shared.assign(shared_bytes, kUnwritten);
  block.warps.resize(size / kWarp);
  block.threads.resize(size);
  block.running = size;
  for (unsigned rank = 0; rank < size; ++rank) {
    Thread& thread = block.threads[rank];
    thread.block = &block;
    thread.rank = rank;
    thread.fiber.Prepare(RunThread, Stack(first_stack + rank));
    ready_.push_back(&thread);
  }
}

std::string Cluster::Run(std::mt19937& random) {
  cluster_ = this;
  unsigned char* const behind = memory + blocks_[0].shared.size();
  std::fill(behind, std::end(memory), kUnwritten);
  // Or a thread goes on as far as it can before another one begins.
  const bool in_random_order = random() % 2;
  while (!ready_.empty()) {
    if (in_random_order) {
      std::swap(ready_[random() % ready_.size()], ready_.back());
    }
    Thread* const thread = ready_.back();
    ready_.pop_back();
    Resume(thread);
    if (!error_.empty()) return error_;
  }
  if (std::any_of(blocks_.begin(), blocks_.end(),
                  [](const Block& block) { return block.running > 0; })) {
    return "threads wait for others that do not come";
  }
  if (std::any_of(behind, std::end(memory),
                  [](unsigned char byte) { return byte != kUnwritten; })) {
    return "a block wrote behind its shared memory";
  }
  return "";
}

void Cluster::RunThread() {
  Thread& thread = cluster_->thread();
  cluster_->kernel_();
  --thread.block->running;
  thread.fiber.Suspend();
}

void Cluster::Resume(Thread* thread) {
  Block* const block = thread->block;
  if (resident_ != block) {
    if (resident_) {
      std::copy_n(memory, resident_->shared.size(), resident_->shared.data());
    }
    std::copy(block->shared.begin(), block->shared.end(), memory);
    resident_ = block;
  }
  thread_ = thread;
  blockIdx = block->index;
  threadIdx.x = thread->rank % blockDim.x;
  threadIdx.y = thread->rank / blockDim.x % blockDim.y;
  threadIdx.z = thread->rank / blockDim.x / blockDim.y;
  thread->fiber.Resume();
}

Cluster& Cluster::Current() { return *cluster_; }

unsigned char* Cluster::SharedOf(Block& block) {
  return &block == resident_ ? memory : block.shared.data();
}

void Cluster::WaitAt(Waiting& waiting, unsigned count, unsigned kind) {
  if (waiting.threads.empty()) waiting.kind = kind;
  if (waiting.kind != kind) Fail("threads wait for different things");
  waiting.threads.push_back(thread_);
  if (waiting.threads.size() == count) Wake(waiting.threads);
  thread_->fiber.Suspend();
}

void Cluster::Sleep() {
  asleep_.push_back(thread_);
  thread_->fiber.Suspend();
}

void Cluster::Wake(std::vector<Thread*>& threads) {
  ready_.insert(ready_.end(), threads.begin(), threads.end());
  threads.clear();
}

void Cluster::Fail(const std::string& what) {
  error_ = what;
  thread_->fiber.Suspend();  // Run() returns: nobody resumes it.
}

}  // namespace emulator
