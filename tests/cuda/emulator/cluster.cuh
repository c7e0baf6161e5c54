// SPDX-License-Identifier: Apache-2.0
// For xla_ffi_ops/cuda/cluster.cuh, whose place it takes where it is included
// first: the same functions, without PTX.
#ifndef XLA_FFI_OPS_CUDA_CLUSTER_CUH_
#define XLA_FFI_OPS_CUDA_CLUSTER_CUH_

#include <cstdint>

#include "tests/cuda/emulator/emulator.h"

namespace xla_ffi_ops {

struct ClusterBarrier {
  uint8_t initialized;
  uint8_t phase;
  uint8_t expecting;  // whether Expect() has yet to be called in this phase
  uint8_t unused = 0;
  int32_t bytes;  // to come; below 0 if they do before Expect() is called
};

namespace internal {

inline void CheckInitialized(const ClusterBarrier* barrier) {
  if (barrier->initialized != 1) emulator::Fail("a barrier before its Init()");
}

inline void Update(ClusterBarrier* barrier, int bytes) {
  CheckInitialized(barrier);
  barrier->bytes += bytes;
  if (barrier->expecting || barrier->bytes != 0) return;
  barrier->phase ^= 1;
  barrier->expecting = 1;
  emulator::WakeAll();
}

}  // namespace internal

inline void Init(ClusterBarrier* barrier) { *barrier = {1, 0, 1, 0, 0}; }

inline void ClusterSync() { emulator::ClusterBarrier(); }

inline void Expect(ClusterBarrier* barrier, int bytes) {
  if (!barrier->expecting) emulator::Fail("Expect() twice in a phase");
  barrier->expecting = 0;
  internal::Update(barrier, bytes);
}

template <typename T>
void Send(unsigned block, T* to, T value, ClusterBarrier* barrier) {
  *static_cast<T*>(emulator::AddressIn(block, to, sizeof(T))) = value;
  internal::Update(static_cast<ClusterBarrier*>(emulator::AddressIn(
                       block, barrier, sizeof(ClusterBarrier))),
                   -static_cast<int>(sizeof(T)));
}

inline void Wait(ClusterBarrier* barrier, int phase) {
  internal::CheckInitialized(barrier);
  while (barrier->phase == phase) emulator::Sleep();
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_CUDA_CLUSTER_CUH_
