// SPDX-License-Identifier: Apache-2.0
// A header of the caller's library.
#ifndef XLA_FFI_OPS_TESTS_KIT_MACROS_DEP_H_
#define XLA_FFI_OPS_TESTS_KIT_MACROS_DEP_H_

#ifndef DEFINED_BY_DEP
#error "the defines of deps"
#endif

#endif  // XLA_FFI_OPS_TESTS_KIT_MACROS_DEP_H_
