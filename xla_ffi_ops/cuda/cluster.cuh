// SPDX-License-Identifier: Apache-2.0
// What the blocks of a cluster tell each other: values that are written into
// the shared memory of another block and counted there by a barrier. Unlike a
// barrier of the whole cluster, this does not wait for a thread's other loads
// and stores.
//
// The PTX ISA describes all of it under "mbarrier" and "st.async". Devices have
// clusters since compute capability 9.0; a kernel for an older one is never
// launched with a cluster, and these functions do nothing there.
#ifndef XLA_FFI_OPS_CUDA_CLUSTER_CUH_
#define XLA_FFI_OPS_CUDA_CLUSTER_CUH_

#include <cuda_runtime.h>

#include <cstdint>

namespace xla_ffi_ops {

// Lives in shared memory. Completes a phase whenever all bytes that its block
// expects have come; waits are for phase 0, 1, 0, and so on.
struct ClusterBarrier {
  uint64_t state;
};

#if __CUDA_ARCH__ >= 900

namespace internal {

__device__ inline uint32_t SharedAddress(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// The address that the same variable has in another block of the cluster.
__device__ inline uint32_t AddressIn(int block, const void* pointer) {
  uint32_t address;
  asm("mapa.shared::cluster.u32 %0, %1, %2;"
      : "=r"(address)
      : "r"(SharedAddress(pointer)), "r"(block));
  return address;
}

}  // namespace internal

// One thread of a block does it; ClusterSync() shows it to the others.
__device__ inline void Init(ClusterBarrier* barrier) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(
                   internal::SharedAddress(barrier))
               : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Waits for all threads of the cluster.
__device__ inline void ClusterSync() {
  __cluster_barrier_arrive();
  __cluster_barrier_wait();
}

// One thread of a block does it, once for each phase.
__device__ inline void Expect(ClusterBarrier* barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                   internal::SharedAddress(barrier)),
               "r"(bytes)
               : "memory");
}

// Writes `value` to where `to` is in `block`, and counts it there.
__device__ inline void Send(int block, uint32_t* to, uint32_t value,
                            ClusterBarrier* barrier) {
  asm volatile(
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, "
      "[%2];" ::"r"(internal::AddressIn(block, to)),
      "r"(value), "r"(internal::AddressIn(block, barrier))
      : "memory");
}
__device__ inline void Send(int block, uint64_t* to, uint64_t value,
                            ClusterBarrier* barrier) {
  asm volatile(
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, "
      "[%2];" ::"r"(internal::AddressIn(block, to)),
      "l"(value), "r"(internal::AddressIn(block, barrier))
      : "memory");
}

// What other blocks sent is released at the scope of the cluster, and has to be
// acquired at that scope: the default is that of the block. An acquire of all
// memory would empty the first-level cache, which has the weights; this one is
// of shared memory alone. Compilers before 12.8 do not know it.
#if CUDART_VERSION >= 12080
#define XLA_FFI_OPS_ACQUIRE_ "relaxed"
#else
#define XLA_FFI_OPS_ACQUIRE_ "acquire"
#endif
__device__ inline void Wait(ClusterBarrier* barrier, int phase) {
  const uint32_t address = internal::SharedAddress(barrier);
  uint32_t done = 0;
  while (!done) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "mbarrier.try_wait.parity." XLA_FFI_OPS_ACQUIRE_
        ".cluster.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n"
        "}"
        : "=r"(done)
        : "r"(address), "r"(phase)
        : "memory");
  }
#if CUDART_VERSION >= 12080
  asm volatile("fence.acquire.sync_restrict::shared::cluster.cluster;" ::
                   : "memory");
#endif
}
#undef XLA_FFI_OPS_ACQUIRE_

#else

__device__ inline void Init(ClusterBarrier*) {}
__device__ inline void ClusterSync() {}
__device__ inline void Expect(ClusterBarrier*, int) {}
template <typename T>
__device__ inline void Send(int, T*, T, ClusterBarrier*) {}
__device__ inline void Wait(ClusterBarrier*, int) {}

#endif

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_CUDA_CLUSTER_CUH_
