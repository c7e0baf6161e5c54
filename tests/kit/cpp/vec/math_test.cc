// SPDX-License-Identifier: Apache-2.0
// The bounds that the headers of vec/math state, against the C library's
// functions of a wider type: for float double's, for double long double's. Also
// special values, flushed subnormal numbers, and that vectors of all sizes give
// the same bits. With the argument `all`, all values of float, against our own
// functions of double.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#ifdef __SSE__
#include <xmmintrin.h>
#endif

#include "tests/kit/cpp/fake_xla.h"
#include "tests/kit/cpp/vec/math_functions.h"

namespace xla_ffi_ops {
namespace {

using Wide = long double;

// The number whose erf is x: Newton's method, from a result that is to be near.
template <typename T>
T ErfInv(T x, T near) {
  const T a = std::fabs(x);
  if (!(a < 1) || a == 0) return a > 1 ? NAN : x / (a == 1 ? 0 : 1);
  T y = std::fabs(near);
  for (int i = 0; i < 2; ++i) {
    const T excess = a < 0.5 ? std::erf(y) - a : (1 - a) - std::erfc(y);
    y -= excess / (std::exp(-y * y) * T(1.12837916709551257389615890312L));
  }
  return std::copysign(y, x);
}

struct Reference {
  const char* name;
  double (*of_double)(double x, double w, double result);
  Wide (*of_wide)(Wide x, Wide w, Wide result);
  double float_ulps, double_ulps;  // the bounds
  double low, high;                // where to look more closely
};

#define REFERENCE(name, value, ...)                           \
  {name,                                                      \
   []([[maybe_unused]] double x, [[maybe_unused]] double w,   \
      [[maybe_unused]] double y) -> double { return value; }, \
   []([[maybe_unused]] Wide x, [[maybe_unused]] Wide w,       \
      [[maybe_unused]] Wide y) -> Wide { return value; },     \
   __VA_ARGS__}

const Reference kReferences[] = {
    REFERENCE("exp", std::exp(x), 1, 1, -90, 90),
    REFERENCE("exp2", std::exp2(x), 1, 1, -130, 130),
    REFERENCE("expm1", std::expm1(x), 1.1, 1.1, -2, 20),
    REFERENCE("logistic", 1 / (1 + std::exp(-x)), 1.3, 1.3, -30, 30),
    REFERENCE("log", std::log(x), 1, 1, 0, 4),
    REFERENCE("log1p", std::log1p(x), 1, 1, -1, 4),
    REFERENCE("sin", std::sin(x), 0.6, 1, -100, 100),
    REFERENCE("cos", std::cos(x), 0.6, 1, -100, 100),
    REFERENCE("tan", std::tan(x), 0.6, 2.5, -100, 100),
    REFERENCE("tanh", std::tanh(x), 1.1, 2, -10, 10),
    REFERENCE("sinh", std::sinh(x), 0.6, 2.2, -3, 3),
    REFERENCE("cosh", std::cosh(x), 0.6, 1.5, -3, 3),
    REFERENCE("asinh", std::asinh(x), 0.6, 2.5, -3, 3),
    REFERENCE("acosh", std::acosh(x), 0.6, 2.5, 1, 3),
    REFERENCE("atanh", std::atanh(x), 0.6, 2.5, -1, 1),
    REFERENCE("atan", std::atan(x), 0.6, 2, -3, 3),
    REFERENCE("atan2", std::atan2(x, w), 0.6, 2, -3, 3),
    REFERENCE("asin", std::asin(x), 0.6, 1, -1, 1),
    REFERENCE("acos", std::acos(x), 0.6, 1, -1, 1),
    REFERENCE("pow", std::pow(x, w), 0.6, 1, 0, 3),
    REFERENCE("cbrt", std::cbrt(x), 1, 1, -8, 8),
    REFERENCE("rsqrt", 1 / std::sqrt(x), 1.5, 1.5, 0, 4),
    REFERENCE("erf", std::erf(x), 0.6, 1.5, -3, 3),
    REFERENCE("erfc", std::erfc(x), 0.6, 4, -3, 12),
    REFERENCE("erf_inv", ErfInv(x, y), 0.6, 3, -1, 1),
};
#undef REFERENCE

template <typename T>
constexpr T kLeast = std::numeric_limits<T>::min();

// How far a result is off, in units in the last place of the exact value.
template <typename T>
double Ulps(T result, Wide exact) {
  constexpr double kWrong = HUGE_VAL;
  const T rounded = static_cast<T>(exact);
  if (std::isnan(exact) || std::isnan(result)) {
    return std::isnan(exact) && std::isnan(result) ? 0 : kWrong;
  }
  if (std::signbit(exact) != std::signbit(result)) return kWrong;
  if (std::isinf(exact) || exact == 0) return result == rounded ? 0 : kWrong;
  if (std::isinf(result)) return std::isinf(rounded) ? 0 : kWrong;
  if (result == 0 && std::fabs(exact) < kLeast<T>) return 0;  // Flushed.
  const Wide size = std::fmax(std::fabs(exact), kLeast<T>);
  const int exponent = std::ilogb(size) + 1 - std::numeric_limits<T>::digits;
  return std::fabs(result - exact) / std::ldexp(Wide{1}, exponent);
}

template <typename T>
bool IsSame(T a, T b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0 || (a != a && b != b);
}

template <typename T>
struct Operands {
  std::vector<T> x, w;
  void Add(T a, T b) { x.push_back(a), w.push_back(b); }
};

template <typename T>
Operands<T> MakeOperands(double low, double high) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> special = {0,
                            1,
                            0.5,
                            2,
                            3,
                            T(1e10),
                            kLeast<T>,
                            2 * kLeast<T>,
                            Limits::denorm_min() * 5,
                            Limits::max(),
                            Limits::max() / 4,
                            Limits::epsilon(),
                            1 - Limits::epsilon() / 2,
                            1 + Limits::epsilon(),
                            1 / Limits::epsilon() + 1,
                            2 / Limits::epsilon() - 1,
                            Limits::infinity(),
                            Limits::quiet_NaN()};
  for (size_t i = 0, n = special.size(); i < n; ++i) {
    special.push_back(-special[i]);
  }
  Operands<T> operands;
  for (T x : special) {
    for (T w : special) operands.Add(x, w);
  }
  std::mt19937_64 random(7);
  std::uniform_real_distribution<T> near(low, high), small(-8, 8), unit(-1, 1);
  const int count = sizeof(T) == 4 ? 250000 : 40000;
  for (int i = 0; i < count; ++i) {
    T any;  // of any bits
    const uint64_t bits = random();
    std::memcpy(&any, &bits, sizeof(T));
    const T by_one = std::ldexp(unit(random), -static_cast<int>(random() % 40));
    operands.Add(any, small(random));
    operands.Add(near(random), near(random));
    operands.Add(1 + by_one, 1 / by_one);
    operands.Add(by_one, any);
  }
  while (operands.x.size() % 16 != 0) operands.Add(0, 0);
  return operands;
}

template <typename T>
std::vector<T> Results(Loop<T> loop, const Operands<T>& operands) {
  std::vector<T> y(operands.x.size());
  loop(operands.x.data(), operands.w.data(), y.data(), y.size());
  return y;
}

// In the mode of XLA's threads, which flush subnormal numbers.
template <typename T>
std::vector<T> FlushedResults(Loop<T> loop, const Operands<T>& operands) {
#ifdef __SSE__
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);
  const std::vector<T> results = Results(loop, operands);
  _mm_setcsr(before);
  return results;
#else
  return Results(loop, operands);
#endif
}

// Whether it is flushed, or an eighth of it, which a result may lack then.
template <typename T>
bool IsTiny(T x) {
  return x != 0 && std::fabs(x) < 8 * kLeast<T>;
}

template <typename T, typename Exact>
void Test(const char* name, const Loops<T>& loops, Exact exact, double bound,
          double low, double high) {
  const Operands<T> operands = MakeOperands<T>(low, high);
  const std::vector<T> results = Results(loops.vector, operands);
  const std::vector<T> flushed = FlushedResults(loops.vector, operands);
  double worst = 0;
  size_t at = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    const T x = operands.x[i], w = operands.w[i];
    const Wide value = exact(x, w, results[i]);
    double error = Ulps<T>(results[i], value);
    if (!IsSame(results[i], flushed[i]) && !IsTiny(x) && !IsTiny(w)) {
      error = std::fmax(error, Ulps<T>(flushed[i], value));
    }
    if (error > worst) worst = error, at = i;
  }
  std::printf("%s of %s: %.3f ulp, at %a and %a\n", name,
              sizeof(T) == 4 ? "float" : "double", worst,
              static_cast<double>(operands.x[at]),
              static_cast<double>(operands.w[at]));
  std::fflush(stdout);  // A CHECK that fails aborts.
  CHECK(worst <= bound);
  for (const Loop<T> other : loops.others) {
    const std::vector<T> others = Results(other, operands);
    for (size_t i = 0; i < results.size(); ++i) {
      CHECK(IsSame(results[i], others[i]));
    }
  }
}

void TestAllFloats(const MathFunction& function, double bound) {
  constexpr int64_t kBlock = 1 << 14;
  std::vector<float> x(kBlock), w(kBlock), y(kBlock);
  std::vector<double> wide_x(kBlock), wide_w(kBlock), exact(kBlock);
  double worst = 0;
  float at = 0;
  for (int64_t begin = 0; begin < int64_t{1} << 32; begin += kBlock) {
    for (int64_t i = 0; i < kBlock; ++i) {
      const uint32_t bits = static_cast<uint32_t>(begin + i);
      std::memcpy(&x[i], &bits, sizeof(bits));
      w[i] = static_cast<int32_t>(bits * 2654435761u) * 0x1p-28f;  // up to 8
      wide_x[i] = x[i], wide_w[i] = w[i];
    }
    function.of_float.vector(x.data(), w.data(), y.data(), kBlock);
    function.of_double.vector(wide_x.data(), wide_w.data(), exact.data(),
                              kBlock);
    for (int64_t i = 0; i < kBlock; ++i) {
      if (y[i] == static_cast<float>(exact[i])) continue;
      const double error = Ulps<float>(y[i], exact[i]);
      if (error > worst) worst = error, at = x[i];
    }
  }
  std::printf("%s of all floats: %.3f ulp, at %a\n", function.name, worst, at);
  std::fflush(stdout);
  CHECK(worst <= bound);
}

}  // namespace
}  // namespace xla_ffi_ops

// Whether Bazel has this shard of a test do its n-th part.
bool IsOfShard(size_t n) {
  const char* const shards = std::getenv("TEST_TOTAL_SHARDS");
  if (shards == nullptr) return true;
  std::fclose(std::fopen(std::getenv("TEST_SHARD_STATUS_FILE"), "w"));
  return n % std::stoul(shards) == std::stoul(std::getenv("TEST_SHARD_INDEX"));
}

int main(int argc, char** argv) {
  using namespace xla_ffi_ops;
  const bool all = argc > 1 && std::string(argv[1]) == "all";
  size_t found = 0;
  for (const MathFunction& function : MathFunctions()) {
    for (const Reference& reference : kReferences) {
      if (std::string(function.name) != reference.name) continue;
      if (argc > 2 && std::string(argv[2]) != reference.name) continue;
      ++found;
      if (all) {
        if (IsOfShard(found)) TestAllFloats(function, reference.float_ulps);
        continue;
      }
      Test(function.name, function.of_float, reference.of_double,
           reference.float_ulps, reference.low, reference.high);
      Test(function.name, function.of_double, reference.of_wide,
           reference.double_ulps, reference.low, reference.high);
    }
  }
  CHECK(argc > 2 || found == MathFunctions().size());
}
