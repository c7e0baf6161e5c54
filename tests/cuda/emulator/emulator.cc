// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulator/emulator.h"

#include <algorithm>
#include <cfenv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <random>
#include <vector>

#include "tests/cuda/emulator/blocks.h"

namespace xla_ffi_ops {

extern unsigned char memory[];  // blocks.cc

}  // namespace xla_ffi_ops

namespace emulator {
namespace {

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
  static std::mt19937 random;
  const std::lock_guard<std::mutex> lock(mutex);
  if (!IsPossible(launch)) return "no device can run the launch";
  if (launch.block.x * launch.block.y * launch.block.z % kWarp) {
    return "the last warp of a block is not full, which is not modelled";
  }
  gridDim = launch.grid;
  blockDim = launch.block;
  std::vector<uint3> clusters;
  for (unsigned z = 0; z < gridDim.z; ++z) {
    for (unsigned y = 0; y < gridDim.y; ++y) {
      for (unsigned x = 0; x < gridDim.x; x += launch.cluster) {
        clusters.push_back({x, y, z});
      }
    }
  }
  std::shuffle(clusters.begin(), clusters.end(), random);
  std::fenv_t environment;
  std::fegetenv(&environment);
  std::fesetenv(FE_DFL_ENV);  // Subnormals are numbers to a GPU.
  std::string error;
  for (const uint3& first : clusters) {
    if (error.empty()) error = Cluster(first, launch, kernel).Run(random);
  }
  std::fesetenv(&environment);
  return error;
}

void Barrier(int id, unsigned count) {
  if (id < 0 || id >= kBarriers || count == 0 || count % kWarp) {
    Fail("a block has no such barrier");
  }
  Cluster& cluster = Cluster::Current();
  cluster.WaitAt(cluster.thread().block->barriers[id], count, count);
}

void ClusterBarrier() {
  Cluster& cluster = Cluster::Current();
  const size_t threads = cluster.thread().block->threads.size();
  cluster.WaitAt(cluster.barrier, cluster.size() * threads, 0);
}

void Shuffle(void* value, size_t bytes, int lane_mask) {
  if (lane_mask < 0 || lane_mask >= int{kWarp}) Fail("a warp has no such lane");
  Cluster& cluster = Cluster::Current();
  const Thread& thread = cluster.thread();
  Warp& warp = thread.block->warps[thread.rank / kWarp];
  const unsigned lane = thread.rank % kWarp;
  auto& values = warp.values[warp.calls % 2];
  std::memcpy(values[lane], value, bytes);
  if (warp.waiting.threads.size() == kWarp - 1) ++warp.calls;
  cluster.WaitAt(warp.waiting, kWarp, lane_mask);
  std::memcpy(value, values[lane ^ lane_mask], bytes);
}

void Sleep() { Cluster::Current().Sleep(); }
void WakeAll() { Cluster::Current().WakeAll(); }

void* AddressIn(unsigned block, void* pointer, size_t bytes) {
  Cluster& cluster = Cluster::Current();
  if (block >= cluster.size()) Fail("the cluster has no such block");
  Block& other = cluster.block(block);
  if (other.running == 0) Fail("a block of the cluster has ended");
  const size_t size = other.shared.size();
  const size_t offset =
      static_cast<unsigned char*>(pointer) - xla_ffi_ops::memory;
  if (offset >= size || size - offset < bytes) {
    Fail("a block has no such shared memory");
  }
  return cluster.SharedOf(other) + offset;
}

void Fail(const std::string& what) {
  Cluster::Current().Fail(what);
  std::abort();  // Not reached.
}

}  // namespace emulator
