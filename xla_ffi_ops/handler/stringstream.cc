// SPDX-License-Identifier: Apache-2.0
// A constructor that XLA's headers call. The libstdc++ of GCC 8, which RHEL 8
// has, lacks it; with a copy of their own, objects can be loaded there.
#include <sstream>

#ifdef __GLIBCXX__
template std::basic_stringstream<char>::basic_stringstream();
#endif
