# SPDX-License-Identifier: Apache-2.0
"""Prints the coefficients of xla_ffi_ops/kit/math: `polynomials.py [NAME...]`.

Each polynomial is near the best one: Lawson's algorithm fits it by least
squares, and gives points of large errors more weight until all largest errors
are about equal. Then its coefficients are rounded one after the other, from the
constant one on, and the rest is fitted again each time. The power of 2 printed
is the largest error that is left, times the weight: that makes it relative to
the result of the function. Needs mpmath.
"""

import sys

import mpmath as mp

mp.mp.dps = 50
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


_EXP = (_exp, lambda r: abs(r), -mp.log(2) / 2, mp.log(2) / 2)
_SIN = (_odd(mp.sin, mp.mpf(-1) / 6), _z, 0, (mp.pi / 4) ** 2)
_COS = (_cos, lambda z: z**2, 0, (mp.pi / 4) ** 2)
_TANH = (_odd(mp.tanh, mp.mpf(-1) / 3), _z, 0, mp.mpf(0.9) ** 2)

# name: function, weight, interval, number of coefficients, digits of the type.
POLYNOMIALS = {
    'expm1_float': (*_EXP, 6, FLOAT),
    'sin_float': (*_SIN, 3, DOUBLE),
    'sin_double': (*_SIN, 6, DOUBLE),
    'cos_float': (*_COS, 3, DOUBLE),
    'cos_double': (*_COS, 6, DOUBLE),
    'tanh_float': (*_TANH, 7, FLOAT),
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


def _fit(nodes, values, scales, powers):
  """The coefficients whose largest error, times its scale, is least."""
  lawson = [mp.mpf(1)] * len(nodes)
  best = None
  for _ in range(24):
    weights = [w * s * s for w, s in zip(lawson, scales, strict=True)]
    c = _solve(nodes, values, weights, powers)
    errors = [
        abs(_evaluate(c, powers, x) - y) * s
        for x, y, s in zip(nodes, values, scales, strict=True)
    ]
    if best is None or max(errors) < best[0]:
      best = max(errors), c
    total = mp.fsum(w * e for w, e in zip(lawson, errors, strict=True))
    if not total:
      break
    lawson = [
        w * e / total * len(nodes) for w, e in zip(lawson, errors, strict=True)
    ]
  return best


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
  rounded = []
  while len(rounded) < count:
    known = range(len(rounded))
    values = [
        y - _evaluate(rounded, known, x)
        for x, y in zip(nodes, exact, strict=True)
    ]
    _, c = _fit(nodes, values, scales, range(len(rounded), count))
    rounded.append(_rounded(c[0], digits))
  errors = [
      abs(_evaluate(rounded, range(count), x) - y) * s
      for x, y, s in zip(nodes, exact, scales, strict=True)
  ]
  return rounded, max(errors)


def _hex(x, digits):
  text = float(x).hex()
  mantissa, exponent = text.split('p')
  mantissa = mantissa.rstrip('0') if '.' in mantissa else mantissa
  return mantissa.rstrip('.') + 'p' + exponent + ('f' if digits == FLOAT else '')


def main(names):
  for name in names or POLYNOMIALS:
    polynomial, error = coefficients(*POLYNOMIALS[name])
    print(f'{name}: 2^{mp.nstr(mp.log(error, 2), 4)}')
    digits = POLYNOMIALS[name][-1]
    print('    ' + ',\n    '.join(_hex(c, digits) for c in polynomial))


if __name__ == '__main__':
  main(sys.argv[1:])
