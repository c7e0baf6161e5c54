// SPDX-License-Identifier: Apache-2.0
// Options get here as they are written.
#include <cuda_runtime.h>

static_assert(TWO_WORDS == 2);
constexpr int kForHost[] = {FOR_HOST};
static_assert(kForHost[1] == 2);
static_assert(ARCHITECTURES[0] != '$');
#ifndef FROM_DEFINES
#error "defines were lost."
#endif
#ifndef DEFINED_BY_DEP
#error "deps were lost."
#endif
#ifdef NO_WORD
#error "-U NO_WORD was lost."
#endif

namespace {

__global__ void Kernel() {}

}  // namespace

void LaunchOptionsKernel() { Kernel<<<1, 1>>>(); }
