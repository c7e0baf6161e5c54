// SPDX-License-Identifier: Apache-2.0
// The source of a kernel.
#include "tests/kit/macros/given.h"
