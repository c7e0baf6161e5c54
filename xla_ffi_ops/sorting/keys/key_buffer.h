// SPDX-License-Identifier: Apache-2.0
// Memory for the keys of a row.
#ifndef XLA_FFI_OPS_SORTING_KEYS_KEY_BUFFER_H_
#define XLA_FFI_OPS_SORTING_KEYS_KEY_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <new>

#include "xla_ffi_ops/vec/memory.h"

namespace xla_ffi_ops::internal {

// An array that is not initialized. The C library maps a large one anew in each
// call. In ordinary pages, page faults would then take up to a third of the
// time of a sort: so it asks for huge ones.
template <typename Key>
class KeyBuffer {
 public:
  explicit KeyBuffer(int64_t n) : bytes_(n * sizeof(Key)) {
    if (!is_large()) {
      keys_ = static_cast<Key*>(::operator new(bytes_));
      return;
    }
    keys_ = static_cast<Key*>(::operator new(bytes_, kPage));
    AskForHugePages(keys_, bytes_);
  }
  ~KeyBuffer() {
    if (is_large()) {
      ::operator delete(keys_, kPage);
    } else {
      ::operator delete(keys_);
    }
  }
  KeyBuffer(const KeyBuffer&) = delete;
  KeyBuffer& operator=(const KeyBuffer&) = delete;

  Key* get() const { return keys_; }

 private:
  static constexpr std::align_val_t kPage{2 << 20};

  bool is_large() const { return bytes_ >= 4 * static_cast<size_t>(kPage); }

  const size_t bytes_;
  Key* keys_;
};

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SORTING_KEYS_KEY_BUFFER_H_
