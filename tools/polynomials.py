# SPDX-License-Identifier: Apache-2.0
"""Prints the coefficients of xla_ffi_ops/vec/math: `polynomials.py [NAME...]`.

Each polynomial is near the best one: Lawson's algorithm fits it by least
squares, and gives points of large errors more weight until all largest errors
are about equal. Then its coefficients are rounded one after the other, from the
constant one on, and the rest is fitted again each time. The power of 2 printed
is the largest error that is left, times the weight: that makes it relative to
the result of the function. Needs mpmath.
"""

import sys

import mpmath as mp

mp.mp.dps = 40
FLOAT, DOUBLE = 24, 53


def _odd(function, third):
  """(f(x) - x) / x^3 as a function of z = x^2, for an odd f with f'(0) = 1."""

  def rest(z):
    x = mp.sqrt(z)
    return (function(x) - x) / x**3 if x > 1e-9 else mp.mpf(third)

  return rest


def _cos(z):
  return (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2 if z > 1e-9 else mp.mpf(1) / 24


def _z(z):
  return z


def _exp(r):
  return (mp.exp(r) - 1 - r) / r**2 if abs(r) > 1e-9 else mp.mpf(0.5)


def _log(z):
  """Of 2 atanh(s) = 2 s + s^3 times this, as a function of z = s^2."""
  s = mp.sqrt(z)
  return (2 * mp.atanh(s) - 2 * s) / s**3 if s > 1e-9 else mp.mpf(2) / 3


def _log_tail(z):
  """What _log is, less 2 / 3, over z."""
  # Below, the difference has too few digits.
  return (_log(z) - mp.mpf(2) / 3) / z if z > 1e-9 else mp.mpf(2) / 5


def _erf(z):
  """erf(x) / x - 1 as a function of z = x^2."""
  x = mp.sqrt(z)
  return (mp.erf(x) / x if x > 1e-9 else 2 / mp.sqrt(mp.pi)) - 1


def _erfc(t):
  """(1 + 2 x) exp(x^2) erfc(x) as a function of t = (x - 3) / (x + 3)."""
  x = 3 * (1 + t) / (1 - t)
  return (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x)


def _erf_inv(w):
  """erf_inv(x) / x as a function of w = -log(1 - x^2)."""
  if w < 1e-9:
    return mp.sqrt(mp.pi) / 2
  x = mp.sqrt(-mp.expm1(-w))
  return mp.erfinv(x) / x


def _erf_inv_tail(v):
  """The same as a function of v = sqrt(w)."""
  return _erf_inv(v * v)


_EXP = (_exp, lambda r: abs(r), -mp.log(2) / 2, mp.log(2) / 2)
_LOG = (_log, _z, 0, (mp.sqrt(2) - 1) ** 4)
_LOG_TAIL = (_log_tail, lambda z: z**2, 0, (mp.sqrt(2) - 1) ** 4)
_SIN = (_odd(mp.sin, mp.mpf(-1) / 6), _z, 0, (mp.pi / 4) ** 2)
_COS = (_cos, lambda z: z**2, 0, (mp.pi / 4) ** 2)
_TANH = (_odd(mp.tanh, mp.mpf(-1) / 3), _z, 0, mp.mpf(0.9) ** 2)
_ATAN = (_odd(mp.atan, mp.mpf(-1) / 3), _z, 0, (mp.sqrt(2) - 1) ** 2)
_ASIN = (_odd(mp.asin, mp.mpf(1) / 6), _z, 0, mp.mpf(0.25))
_ERF = (_erf, lambda z: 1, 0, mp.mpf(0.875) ** 2)
_ERFC = (_erfc, lambda t: 1, mp.mpf(-2.5) / 3.5, mp.mpf(24.3) / 30.3)
_ERFC_SHORT = (_erfc, lambda t: 1, mp.mpf(-2.5) / 3.5, mp.mpf(7.5) / 13.5)
_ERF_INV = (_erf_inv, lambda w: 1 / _erf_inv(w), 0, 5)
_ERF_INV_SHORT = (_erf_inv_tail, lambda v: 1 / v, mp.sqrt(5), 4)
_ERF_INV_TAIL = (_erf_inv_tail, lambda v: 1 / v, mp.sqrt(5), mp.mpf(6.1))

# name: function, weight, interval, number of coefficients, digits of the type.
POLYNOMIALS = {
    "expm1_float": (*_EXP, 6, FLOAT),
    "tanh_float": (*_TANH, 7, FLOAT),
    "sin_short": (*_SIN, 3, DOUBLE),
    "sin": (*_SIN, 6, DOUBLE),
    "cos_short": (*_COS, 3, DOUBLE),
    "cos": (*_COS, 6, DOUBLE),
    "log_short": (*_LOG, 4, DOUBLE),
    "log_tail": (*_LOG_TAIL, 8, DOUBLE),
    "atan_short": (*_ATAN, 5, DOUBLE),
    "atan": (*_ATAN, 11, DOUBLE),
    "asin_short": (*_ASIN, 6, DOUBLE),
    "asin": (*_ASIN, 13, DOUBLE),
    "erf_short": (*_ERF, 7, DOUBLE),
    "erf": (*_ERF, 12, DOUBLE),
    "erfc_short": (*_ERFC_SHORT, 11, DOUBLE),
    "erfc": (*_ERFC, 22, DOUBLE),
    "erf_inv": (*_ERF_INV, 10, DOUBLE),
    "erf_inv_short": (*_ERF_INV_SHORT, 12, DOUBLE),
    "erf_inv_tail": (*_ERF_INV_TAIL, 9, DOUBLE),
}


def _solve(nodes, values, weights, powers):
  """The least squares fit of sum(c[j] x^powers[j]) to the values."""
  n = len(powers)
  basis = [[x**p for p in powers] for x in nodes]
  matrix, right = mp.matrix(n, n), mp.matrix(n, 1)
  for row, value, weight in zip(basis, values, weights, strict=True):
    for j in range(n):
      right[j] += weight * row[j] * value
      for k in range(n):
        matrix[j, k] += weight * row[j] * row[k]
  return list(mp.lu_solve(matrix, right))


def _evaluate(c, powers, x):
  return mp.fsum(a * x**p for a, p in zip(c, powers, strict=True))


def _lawson(nodes, values, scales, powers):
  """Weights that make the largest error, times its scale, least."""
  weights = [s * s for s in scales]
  for _ in range(24):
    c = _solve(nodes, values, weights, powers)
    errors = [
        abs(_evaluate(c, powers, x) - y) * s
        for x, y, s in zip(nodes, values, scales, strict=True)
    ]
    total = mp.fsum(w * e for w, e in zip(weights, errors, strict=True))
    weights = [w * e / total for w, e in zip(weights, errors, strict=True)]
  return weights


def _rounded(x, digits):
  with mp.workprec(digits):
    return +x


def coefficients(function, weight, low, high, count, digits):
  """The rounded coefficients, from that of x^0 on, and the largest error."""
  low, high = mp.mpf(low), mp.mpf(high)
  points = 6 * count + 10
  nodes = [
      (low + high + (high - low) * mp.cos(mp.pi * (i + 0.5) / points)) / 2
      for i in range(points)
  ]
  exact = [function(x) for x in nodes]
  scales = [mp.mpf(weight(x)) for x in nodes]
  weights = _lawson(nodes, exact, scales, range(count))
  rounded = []
  while len(rounded) < count:
    known = range(len(rounded))
    values = [
        y - _evaluate(rounded, known, x)
        for x, y in zip(nodes, exact, strict=True)
    ]
    c = _solve(nodes, values, weights, range(len(rounded), count))
    rounded.append(_rounded(c[0], digits))
  errors = [
      abs(_evaluate(rounded, range(count), x) - y) * s
      for x, y, s in zip(nodes, exact, scales, strict=True)
  ]
  return rounded, max(errors)


def _hex(x, digits):
  text = float(x).hex()
  mantissa, exponent = text.split("p")
  mantissa = mantissa.rstrip("0") if "." in mantissa else mantissa
  return (
      mantissa.rstrip(".") + "p" + exponent + ("f" if digits == FLOAT else "")
  )


def main(names):
  for name in names or POLYNOMIALS:
    polynomial, error = coefficients(*POLYNOMIALS[name])
    print(f"{name}: 2^{mp.nstr(mp.log(error, 2), 4)}")
    digits = POLYNOMIALS[name][-1]
    print("    " + ",\n    ".join(_hex(c, digits) for c in polynomial))


if __name__ == "__main__":
  main(sys.argv[1:])
