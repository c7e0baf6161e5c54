// SPDX-License-Identifier: Apache-2.0
// An object that does something when it is loaded, and never is.
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void OnLoad(void) { ON_LOAD; }
