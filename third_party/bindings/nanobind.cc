// SPDX-License-Identifier: Apache-2.0
// nanobind is no header-only library: its wheel brings its sources.
#include "nanobind/src/nb_combined.cpp"
