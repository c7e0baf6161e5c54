// SPDX-License-Identifier: Apache-2.0
// Two results of handlers as one, in whatever order they become known.
#include <functional>
#include <optional>

#include "tests/kit/cpp/fake_xla.h"
#include "xla/ffi/api/ffi.h"
#include "xla_ffi_ops/threads/parallel.h"

namespace xla_ffi_ops {
namespace {

namespace ffi = ::xla::ffi;

// A result that is known at once, or when Resolve() is called.
class Part {
 public:
  Part(bool later, bool fails) : later_(later), fails_(fails) {}

  bool fails() const { return fails_; }
  bool later() const { return later_; }

  HandlerResult Get() {
    if (later_) return ffi::Future(promise_);
    return Error();
  }

  void Resolve() {
    if (later_ && fails_) {
      promise_.SetError(Error());
    } else if (later_) {
      promise_.SetAvailable();
    }
  }

 private:
  ffi::Error Error() const {
    return fails_ ? ffi::Error::Internal("failed") : ffi::Error::Success();
  }

  bool later_;
  bool fails_;
  ffi::Promise promise_;
};

// Calls `done` with the error of `result`, now or later.
void WhenDone(HandlerResult& result,
              std::function<void(const ffi::Error&)> done) {
  if (result.error()) return done(*result.error());
  result.Release().OnReady([done](const std::optional<ffi::Error>& error) {
    done(error.value_or(ffi::Error::Success()));
  });
}

void TestJoin(Part first, Part second, bool second_before_first) {
  HandlerResult both = Join(first.Get(), second.Get());
  std::optional<bool> fails;
  WhenDone(both, [&](const ffi::Error& error) { fails = error.failure(); });
  CHECK(fails.has_value() == !(first.later() || second.later()));
  Part& early = second_before_first ? second : first;
  Part& late = second_before_first ? first : second;
  early.Resolve();
  CHECK(fails.has_value() == !late.later());
  late.Resolve();
  CHECK(fails.has_value());
  CHECK(*fails == (first.fails() || second.fails()));
}

}  // namespace
}  // namespace xla_ffi_ops

int main() {
  for (int bits = 0; bits < 32; ++bits) {
    const auto bit = [&](int i) { return (bits >> i & 1) != 0; };
    using xla_ffi_ops::Part;
    xla_ffi_ops::TestJoin(Part(bit(0), bit(1)), Part(bit(2), bit(3)), bit(4));
  }
}
