// SPDX-License-Identifier: Apache-2.0
// Does not compile without what `given` of defs.bzl passes.
#include "tests/kit/macros/dep.h"

#ifndef FROM_COPTS
#error "copts"
#endif
#ifndef FROM_DEFINES
#error "defines"
#endif
#ifndef FROM_LOCAL_DEFINES
#error "local_defines"
#endif
