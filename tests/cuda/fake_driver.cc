// SPDX-License-Identifier: Apache-2.0
// A driver of a GPU that is not there: 132 multiprocessors, one block each, no
// clusters of 16. Every module has two kernels. Types and numbers are cuda.h's.
#include <cuda.h>

#include <cstdint>
#include <cstring>
#include <numeric>

namespace {

struct Kernel {
  const char* name;
  int registers;
  int local_bytes;
  bool non_portable;
};

Kernel kernels[] = {
    {"_ZN11xla_ffi_ops9RowKernelINS_4ArgsIfEEEEvT_", 54, 0, false},
    {"plain", 255, 8, false},
};
int module_count = 0;

Kernel* Of(CUfunction function) { return reinterpret_cast<Kernel*>(function); }

}  // namespace

extern "C" {

CUresult cuInit(unsigned int) { return CUDA_SUCCESS; }

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  *context = reinterpret_cast<CUcontext>(&module_count);
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context) {
  return context == reinterpret_cast<CUcontext>(&module_count)
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_CONTEXT;
}

// Reads all of the image: it has to be there.
CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  const auto* bytes = static_cast<const unsigned char*>(image);
  uint64_t size = 0;
  std::memcpy(&size, bytes + 8, sizeof(size));
  const unsigned sum = std::accumulate(bytes, bytes + 16 + size, 0u);
  if (bytes[0] != 0x50 || sum == 0) return CUDA_ERROR_INVALID_IMAGE;
  *module = reinterpret_cast<CUmodule>(&module_count);
  ++module_count;
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunctionCount(unsigned int* count, CUmodule) {
  *count = 2;
  return CUDA_SUCCESS;
}

CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned int count,
                                    CUmodule) {
  for (unsigned int i = 0; i < count; ++i) {
    functions[i] = reinterpret_cast<CUfunction>(&kernels[i]);
  }
  return CUDA_SUCCESS;
}

CUresult cuFuncGetName(const char** name, CUfunction function) {
  *name = Of(function)->name;
  return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute,
                            CUfunction function) {
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = 512;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      *value = Of(function)->registers;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      *value = Of(function)->local_bytes;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute,
                            int value) {
  if (attribute != CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Of(function)->non_portable = value != 0;
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction,
                                                     int threads,
                                                     size_t shared_bytes) {
  *blocks = 1024 / threads;
  return shared_bytes == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction function,
                                      const CUlaunchConfig* config) {
  const CUlaunchAttribute& attribute = config->attrs[0];
  const auto& size = attribute.value.clusterDim;
  if (!Of(function)->non_portable || config->numAttrs != 1 ||
      attribute.id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION || size.y != 1 ||
      size.z != 1 || config->gridDimX != size.x || config->gridDimY != 1 ||
      config->gridDimZ != 1 || config->blockDimX != 512 ||
      config->blockDimY != 1 || config->blockDimZ != 1 ||
      config->sharedMemBytes != 0 || config->hStream != nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (size.x == 16) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  *clusters = 132 / size.x;
  return CUDA_SUCCESS;
}

}  // extern "C"
