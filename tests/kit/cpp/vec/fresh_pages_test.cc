// SPDX-License-Identifier: Apache-2.0
// Pages that memory does not have yet.
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

#include "tests/kit/cpp/fake_xla.h"
#include "xla_ffi_ops/vec/memory.h"

namespace xla_ffi_ops {
namespace {

char* Fresh(size_t bytes) {
  void* const pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, /*fd=*/-1,
                           /*offset=*/0);
  CHECK(pages != MAP_FAILED);
  return static_cast<char*>(pages);
}

// Until its first access, a page is fresh. Nobody knows of memory that is none
// of the process's.
void TestFreshPages() {
  char* const pages = Fresh(3 * 4096);
  CHECK(madvise(pages, 3 * 4096, MADV_NOHUGEPAGE) == 0);
  const auto address = reinterpret_cast<uintptr_t>(pages);
  pages[4096] = 1;
  for (const int i : {0, 1, 4095}) {
    CHECK(internal::IsFreshPage(address + i));
    CHECK(!internal::IsFreshPage(address + 4096 + i));
  }
  munmap(pages, 3 * 4096);
  CHECK(!internal::IsFreshPage(address));
}

// Whether huge pages were asked for at this address.
bool WantsHugePages(const char* address) {
  std::ifstream maps("/proc/self/smaps");
  bool found = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin, end;  // NOLINT
    if (std::sscanf(line.c_str(), "%lx-%lx", &begin, &end) == 2) {
      found = begin <= reinterpret_cast<uintptr_t>(address) &&
              reinterpret_cast<uintptr_t>(address) < end;
    } else if (found && line.rfind("VmFlags:", 0) == 0) {
      return line.find(" hg") != std::string::npos;
    }
  }
  CHECK(false);
}

// An array without pages gets huge ones, where the system has them, and its
// neighbours do not.
void TestHugePages() {
  constexpr size_t kBytes = 8 << 20;
  char* const advised = Fresh(kBytes);
  const bool has_them =
      madvise(advised, kBytes, MADV_HUGEPAGE) == 0 && WantsHugePages(advised);
  munmap(advised, kBytes);
  for (const bool given : {false, true}) {
    char* const pages = Fresh(kBytes);
    // All but the first and the last page is whole.
    char* const array = pages + 64;
    constexpr size_t kSize = kBytes - 128;
    if (given) array[kSize / 2] = 1;
    internal::AskForHugePages(array, kSize);
    CHECK(WantsHugePages(array + kSize / 2) == (has_them && !given));
    CHECK(!WantsHugePages(array));
    CHECK(!WantsHugePages(array + kSize));
    munmap(pages, kBytes);
  }
}

}  // namespace
}  // namespace xla_ffi_ops

int main() {
  xla_ffi_ops::TestFreshPages();
  xla_ffi_ops::TestHugePages();
}
