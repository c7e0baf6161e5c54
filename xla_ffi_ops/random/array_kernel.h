// SPDX-License-Identifier: Apache-2.0
// What threads call to draw arrays (array_draws.h).
#ifndef XLA_FFI_OPS_RANDOM_ARRAY_KERNEL_H_
#define XLA_FFI_OPS_RANDOM_ARRAY_KERNEL_H_

#include <cstdint>

namespace xla_ffi_ops::random {

// Elements [begin, end) of a row, which is an array with a key of its own.
struct Stretch {
  int64_t row, begin, end;
};

class ArrayKernel {
 public:
  virtual ~ArrayKernel() = default;

  // Whether any of them is drawn by rejection.
  virtual bool Rejects(const Stretch& stretch) const = 0;

  // Draws them. If the row `rejects`, all of its elements take part in so many
  // rounds, which become more if they have to.
  virtual void Draw(const Stretch& stretch, bool rejects,
                    int* rounds) const = 0;

  // Draws them again in the rounds [before, rounds), which follow those that
  // they were drawn in, or some of them.
  virtual void Redraw(const Stretch& stretch, int before, int rounds) const = 0;

  // Draws rows [begin, end) of one element.
  virtual void DrawSingles(int64_t begin, int64_t end) const = 0;
};

}  // namespace xla_ffi_ops::random

#endif  // XLA_FFI_OPS_RANDOM_ARRAY_KERNEL_H_
