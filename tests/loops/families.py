# SPDX-License-Identifier: Apache-2.0
"""An op for each family of primitives: what it returns uses all of them."""

import os
import pathlib

import jax
from jax import lax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit

OPS = {}
# The families that have handlers in this test; by default, all have.
_BUILT = os.environ.get("FAMILIES", "").split()


def _family(*cores, dtypes=(), shared=()):
  """Declares a function of arrays of these shapes as an op.

  Args:
    *cores: shapes.
    dtypes: those of the first operands, if not float32.
    shared: the numbers of operands that rows share.
  """

  def declare(function):
    name = function.__name__
    if _BUILT and name not in _BUILT:
      return function
    names = "abcde"[: len(cores)]
    types = [*dtypes, *["float32"] * (len(cores) - len(dtypes))]
    avals = [jax.ShapeDtypeStruct(*x) for x in zip(cores, types)]
    flat = lambda *arrays: jax.tree.leaves(function(*arrays))
    side = lambda shapes: ",".join(
        f"({','.join(map(str, shape))})" for shape in shapes
    )
    results = side(x.shape for x in jax.eval_shape(flat, *avals))
    op = kit.op(
        name,
        library=kit.Library(
            pathlib.Path(__file__).with_name(f"lib{name}_ext.so"),
            prefix="families_",
        ),
        signature=f"{side(cores)}->{results}",
        operands=tuple(names),
        reference=eval(  # pylint: disable=eval-used
            f"lambda {', '.join(names)}: f({', '.join(names)})", {"f": flat}
        ),
        dtypes={n: (t,) for n, t in zip(names, types)},
    )
    axes = [None if i in shared else 0 for i in range(len(cores))]
    OPS[name] = op, jax.vmap(flat, axes), list(zip(cores, types, axes))
    return function

  return declare


@_family((6,), (6,))
def arithmetic(a, b):
  return (
      a + b * a / b - (-a), jnp.maximum(a, b), jnp.minimum(a, b), jnp.abs(a),
      jnp.sign(a), a**3, a**-2, jnp.square(a), jnp.sqrt(jnp.abs(b)),
      lax.rsqrt(jnp.abs(a)), jnp.clip(a, -0.5, 0.5), jnp.floor(a), jnp.ceil(a),
      jnp.round(a * 3), lax.round(a * 3, lax.RoundingMethod.AWAY_FROM_ZERO),
      jnp.where(a > b, a, b), jnp.isfinite(a), jnp.isnan(b), a != b, a <= b,
      (a > b) & ~(a < 0) | (a == b), (a > 0) ^ (b > 0),
      *(f(a > 0, b > 0) for f in (
          lax.eq, lax.ne, lax.lt, lax.le, lax.gt, lax.ge, lax.max, lax.min,
      )),
      a.astype(np.int32), (a * 1e20).astype(np.int32), a.astype(np.uint8),
      (a > 0).astype(np.float32), lax.select_n((a > 0) * 1, a, b),
      lax.clamp(a > 0, b > 0, a > b),
      lax.nextafter(a, b), lax.rem(a, b), lax.clamp(b, a, np.float32(0.2)),
      lax.integer_pow(a, 0), 0 - a, a * 1 + 0,
  )  # fmt: skip


@_family((8,), (8,), (8,), dtypes=("float32", "int32", "float16"))
def casts(a, b, c):
  """Simulated quantization: what is cast to 16 bits has 16 bits."""
  large, small = a * 40000, a * 2**-20
  halves = np.float16, jnp.bfloat16
  return (
      *(x.astype(h).astype(np.float32) for x in (a, large, small, b)
        for h in halves),
      c.astype(jnp.bfloat16), (a > 0).astype(np.float16),
      b.astype(np.int8).astype(jnp.bfloat16),
      jnp.where(b > 0, a.astype(np.float16), c),
      *(lax.bitcast_convert_type(x.astype(h), np.int16) for x in (a, small)
        for h in halves),
      *(lax.bitcast_convert_type((b * 999).astype(np.uint16), h)
        for h in halves),
  )  # fmt: skip


def _of_jax_0_12(a):
  if not hasattr(lax, "polynomial"):
    return ()
  return lax.one_minus_square(a), lax.polynomial(a, (0.5, 3.0, -2.0))


@_family((6,), (6,))
def functions(a, b):
  inside = jnp.clip(a, -0.9, 0.9)
  return (
      jnp.sin(b), jnp.cos(a + 1),
      jnp.exp(a), jnp.log(jnp.abs(a)), jnp.sin(a), jnp.cos(a), jnp.tan(a),
      jnp.tanh(a), jnp.expm1(a), jnp.log1p(jnp.abs(a)),
      lax.pow(a, (b * 3).astype(np.int32)), jax.nn.sigmoid(a), lax.erf(a),
      lax.erfc(a),
      lax.erf_inv(inside), jnp.cbrt(a), jnp.sinh(a), jnp.cosh(a),
      jnp.arcsin(inside), jnp.arccos(inside), jnp.arctan(a), jnp.exp2(a),
      jnp.arcsinh(a), jnp.arccosh(1 + jnp.abs(a)), jnp.arctanh(inside),
      jnp.log2(jnp.abs(a)), *_of_jax_0_12(a),
      lax.pow(a, b), jnp.arctan2(a, b),
  )  # fmt: skip


@_family((6,))
def gammas(a):
  x = jnp.exp2(a)
  return (
      lax.lgamma(x), lax.lgamma(a), lax.digamma(x), lax.digamma(a),
      lax.bessel_i0e(a), lax.bessel_i1e(a),
  )  # fmt: skip


@_family((6,), (6,))
def incomplete_gammas(a, b):
  x, y = jnp.exp2(a), jnp.exp2(b)
  return (
      lax.zeta(1 + x, y), lax.igamma(x, y), lax.igammac(x, y),
      lax.igamma_grad_a(x, y), lax.polygamma(jnp.float32(1), x),
      lax.zeta(1 + jnp.abs(jnp.round(b)), a),
  )  # fmt: skip


@_family((6,), (6,), (9, 20), dtypes=("int32", "int32", "int32"))
def integers(a, b, c):
  # Numbers that C++ would not let wrap, within larger expressions.
  small = c.astype(np.int8) * np.int8(30)
  tables = jnp.arange(180).reshape(9, 20).astype(np.uint8)
  positive, by = a.astype(np.uint32), b.astype(np.uint32)
  return (
      small + small > 9, -(small - 99) // 7, jnp.abs(~small * small) % 5,
      (tables * tables + 1) // 7, tables + small.astype(np.uint8) < tables,
      (small > 0) == ~(tables > c), jnp.where(c > 2, small * 9, small) << 1,
      small.at[b].add(small[:6]), (small ^ 3).max(1), small.sum(0),
      a + b * 1000003, lax.div(a, b), lax.rem(a, b), a // b, a % b, a << 3,
      lax.shift_left(a, b), lax.shift_right_logical(a, b), a >> 2,
      lax.shift_right_arithmetic(a, b), a ^ b, a & b, a | b, ~a, -a,
      lax.shift_right_arithmetic(positive, by),
      lax.shift_right_arithmetic(tables, small.astype(np.uint8)),
      lax.population_count(a), lax.clz(a), positive * 7,
      a.astype(np.int8) + b.astype(np.int8), a.astype(np.float32), jnp.abs(a),
      jnp.sign(a), lax.max(a, b), lax.min(a, b), a < b, a.astype(bool),
      lax.bitcast_convert_type(a, np.float32) == 0,
  )  # fmt: skip


@_family((3, 4), (4,), (9, 20), (20,))
def moves(a, b, c, d):
  def small_and_large(a, b):
    sizes = 1, 2, a.shape[1] - 3
    return (
        a.T + 1, a[::-1, 1:3] * 2, a[:, ::2], a.T.reshape(a.shape), a[1],
        jnp.concatenate([a, b[None]]), jnp.stack([b, b + 1], 1),
        jnp.pad(a, ((1, 2), (0, 1)), constant_values=2.0),
        lax.pad(a, np.float32(1), ((-1, 0, 1), (1, -2, 2))),
        jnp.tile(b, 2), jnp.roll(a, 2, 1), a + b, jnp.split(a, 2, 1)[1],
        jnp.flip(a, 0).sum(1), jnp.broadcast_to(b, (2, *b.shape)), jnp.flip(a),
        a.reshape(3, -1, 2).transpose(1, 2, 0) + 1, lax.split(a, sizes, 1)[2],
        lax.pad(a, np.float32(1), ((-3, 0, 1), (-2, -4, 2))),
        lax.broadcast_in_dim(a[:1], (5, a.shape[1]), (0, 1)),
        a[:, ::2].reshape(len(a), 1, -1, 1) + 1,
        lax.reshape(a, (2, a.size // 2), (1, 0)),
    )  # fmt: skip

  return small_and_large(a, b), small_and_large(c, d)


@_family((4, 5), (9, 20))
def reductions(a, b):
  bits = lambda x: lax.bitcast_convert_type(x, np.int32)

  def small_and_large(x):
    return (
        x.sum(), x.sum(0), x.sum(1), x.max(0), x.min((0, 1)), x.prod(1),
        x.mean(), (x > 0).any(0), (x > 0).all(1), (x > 1).max(0),
        (x > -9).all(1), jnp.abs(x).min(1), -jnp.abs(x).max(1),
        (-jnp.abs(x)).max(1), (x > 0).min(0), lax.reduce_xor(bits(x), (0,)),
        jnp.cumsum(x, 0), jnp.cumsum(x, 1), lax.cumprod(x, 1, reverse=True),
        lax.cummax(x, 1, reverse=True), lax.cummin(x, 0), jnp.argmax(x, 1),
        jnp.argmin(x, 0), jnp.argmax(x > 0, 1),
        jnp.argmin(jnp.round(x), 1), jax.nn.logsumexp(x, 1),
        jax.nn.softmax(x, 1), lax.cumlogsumexp(x, 1),
        lax.reduce(x, np.float32(0.5), jnp.logaddexp, (1,)),
        lax.reduce((x, -x), (np.float32(0), np.float32(2)), both, (0, 1)),
        lax.reduce(x > 0, False, lambda a, b: a ^ b, (0,)),
        x[:0].sum(1), x[:, :0].sum(1),
    )  # fmt: skip

  def both(a, b):
    return a[0] * 0.5 + b[0], jnp.minimum(a[1], b[1] * b[0])

  return small_and_large(a), small_and_large(b)


@_family((4, 5), (5, 3), (9, 20), (20, 11))
def dots(a, b, c, d):
  e, f = a.reshape(2, 2, 5), (c * 50).astype(np.int8)
  g = (a * 1e9).astype(np.int32)  # Their products wrap.
  return (
      a @ b, c @ d, jnp.einsum("ij,kj->ik", c, c), c[0] @ d, c.T @ c[:, 0],
      jnp.einsum("ij,jk->ki", a, b), jnp.einsum("bi,bj->bij", a, a),
      jnp.einsum("bi,bi->b", c, c),
      lax.dot_general(c, d[:, :9], (((1, 0), (0, 1)), ((), ()))),
      lax.dot_general(e, e[..., 1:], (((), ()), ((1, 0), (0, 1)))),
      jnp.einsum("ij,kj->ik", f, f, preferred_element_type=np.int32),
      g @ g.T, g.astype(np.uint32) @ g.astype(np.uint32).T,
      lax.fori_loop(0, 3, lambda i, x: jnp.tanh(d @ x[:11]), c[0]),
      a.T @ a, b @ b.T, a @ a[0], b[0] @ b.T, a[:, :3].T @ a[:, 1:],
      jnp.einsum("bij,bik->bjk", e, e),
  )  # fmt: skip


@_family((), (4,), (6,), (9, 20), dtypes=("int32", "int32"))
def indices(a, b, c, d):
  three, e = c[:3], d * 2
  numbers = (jnp.abs(d) * 3).astype(np.int32).ravel()
  return (
      lax.dynamic_slice(c, (a,), (3,)), lax.dynamic_slice(d, (a, 2), (3, 4)),
      lax.dynamic_update_slice(c, three, (a,)),
      lax.dynamic_update_slice(d, three[None] * 2, (a, a)), c[a], d[a],
      c.at[a].set(3.0), d.at[a, 2].mul(3.0), d.at[:, a].set(1.0),
      lax.dynamic_index_in_dim(jnp.arange(7.0), a, keepdims=False),
      c[b], d[b], d[:, b], d[b, b], c.at[b].add(1.0), d.at[b].set(0.0),
      d.at[b, b].max(0.5), d.at[b].min(0.5), jnp.take(c, b, mode="clip"),
      jnp.take(c, b, mode="fill"), jnp.take_along_axis(c, b, 0),
      jnp.arange(10)[b], c[jnp.array([1, 2, 5])],
      d[jnp.array([[1], [2]]), jnp.array([3, 4])],
      c.reshape(2, 3)[jnp.array([1, 0]), jnp.array([2, 1])],
      # The part that is read is written, too.
      e.at[b].set(e[2:6]), numbers.at[numbers[3:9]].set(7),
      c.at[b].get(mode="fill"), numbers[:9].at[b].get(mode="fill"),
      numbers.astype(np.uint32).at[b].get(mode="fill"),
      jax.vmap(lambda i: lax.dynamic_slice(d, (i, i), (3, 4)))(b),
      jax.vmap(lambda row, i: row[i])(d[:4], b),
      jax.vmap(lambda row, i: row.at[i].add(1.0))(d[:4], b),
      jax.vmap(lambda row, i: row[i])(d[:4, :4], jnp.arange(4) * a),
      c.at[jnp.array([1, 9])].get(mode="fill"),
      lax.dynamic_slice(d, (a.astype(np.int8), a.astype(np.int8)), (2, 3)),
      lax.dynamic_update_slice(d, three[None], [a.astype(np.uint8)] * 2),
      # Unsigned indices from the end on.
      d[::-1, ::-1][b.astype(np.uint32) % 5],
      c[::-1].at[jnp.abs(b).astype(np.uint32)].set(9.0),
      (c > 0).at[b].max(True), (c > 0).at[b].min(False),
  )  # fmt: skip


@_family((), (3,), dtypes=("int32",))
def control(a, b):
  ragged = lax.while_loop(
      lambda c: c[0] < jnp.abs(a) % 7,
      lambda c: (c[0] + 1, c[1] * 2 + 1),
      (0, b),
  )
  # The inner loop of a lane that has left the outer one must not run on.
  nested = lax.while_loop(
      lambda c: c[1] < 20,
      lambda c: (
          c[0] + 1,
          lax.while_loop(
              lambda d: d[0] < c[0] % 3,
              lambda d: (d[0] + 1, d[1] + jnp.abs(b[0])),
              (0, c[1] + 1),
          )[1],
      ),
      (0, b[0]),
  )
  scanned = lax.scan(
      lambda c, x: (c + x, (c * x, jnp.stack([c, x]))),
      np.float32(0), b, reverse=True,
  )  # fmt: skip
  in_place = lax.fori_loop(
      0,
      100,
      lambda i, x: x.at[i].set(x[(i * 7) % 100] + b[0]),
      jnp.zeros(100),
  )
  # What is written overlaps what is read.
  moved_along = lax.fori_loop(
      0, 3,
      lambda i, x: lax.dynamic_update_slice(x, x[:80] + i, (i + 5,)),
      jnp.arange(100.0),
  )  # fmt: skip
  by_itself = lax.fori_loop(
      0, 3,
      lambda i, x: lax.dynamic_update_slice(x, x[:80], (i + 5,)),
      jnp.arange(100.0),
  )  # fmt: skip
  # Large carries: some change in place, and some need other elements, too. One
  # is made of a scalar carry, which has to change after it.
  square = b[0] * jnp.arange(81.0).reshape(9, 9)
  row = jnp.arange(9.0)
  together = lax.fori_loop(
      0, 3,
      lambda i, c: (
          c[0] * c[1], c[1] + 0.5, 0.5 * c[2].T + c[2], c[3].T + c[0],
          c[4] + jnp.tensordot(c[1] * row, row + i, 0).T,
          jnp.full((9, 9), c[1]),
      ),
      (square, b[0], square, square, square, square),
  )  # fmt: skip
  in_some_lanes = lax.while_loop(
      lambda c: c[0] < jnp.abs(a) + 3,
      lambda c: (c[0] + 1, c[1].at[c[0]].set(b[0] * c[0])),
      (0, jnp.zeros(100)),
  )
  swapped = lax.fori_loop(
      0,
      3,
      lambda i, c: (c[1], c[0] + 1),
      (jnp.zeros(100), jnp.ones(100) * b[0]),
  )
  ones = jnp.ones(100) * b[0]
  # A carry that is the former value of another one.
  followed = [
      lax.fori_loop(0, 3, lambda i, c: (c[0] + 1, c[0]), (x, 2 * x))
      for x in (b, ones)
  ]

  def halved_or_set(x):
    return lax.cond(
        x[0] > 1,
        lambda x: x.at[1].set(0),
        lambda x: x.at[2].add(x[1] / 2),
        x,
    )

  branches = [
      lax.cond(a > 0, lambda x: x.at[0].set(0), lambda x: x + 1, ones),
      lax.while_loop(
          lambda c: c[0] < jnp.abs(a) % 5,
          lambda c: (c[0] + 1, halved_or_set(c[1] * 0.9)),
          (0, 3 * ones),
      ),
  ]
  # What a step changes is read by the next one.
  constant = lax.scan(
      lambda s, x: (s + ones.at[2].set(x).sum(), ones[2]), 0 * b[0], b
  )
  by_condition = lax.while_loop(
      lambda c: (c[1].at[0].set(0).sum() < 500) & (c[0] < jnp.abs(a)),
      lambda c: (c[0] + 1, c[1] * 1.5 + 1),
      (0, ones),
  )
  under_vmap = jax.vmap(
      lambda x: lax.while_loop(
          lambda c: c[0] < 4, lambda c: (c[0] + 1 + x % 1, c[1] * x), (x, b)
      )
  )(jnp.abs(jnp.concatenate([b, b + 1])))
  return (
      branches, scanned[1][0] * 2, ragged, nested, followed, constant,
      by_condition, under_vmap, scanned, in_place, in_some_lanes, swapped,
      moved_along, by_itself, together,
      lax.fori_loop(0, 5, lambda i, x: x * 0.5 + i, b),
      lax.fori_loop(0, jnp.abs(a) % 5, lambda i, x: x * 0.5 + i, b),
      lax.cond(a > 0, jnp.sin, lambda x: x * 2, b),
      lax.switch(a, [lambda x: x, lambda x: x + 1, lambda x: x * 3], b),
  )  # fmt: skip


@_family((3,), (3,), (), dtypes=("float32", "float32", "int32"))
def same_in_each_step(a, b, c):
  """What no step changes is computed before the loop."""
  table = jnp.outer(jnp.arange(40.0), b)

  def of_matrices(x, y):
    inverse = jnp.linalg.inv(jnp.outer(y, y) + jnp.eye(3))
    weights = jnp.exp(y)
    return jnp.tanh(inverse @ x * weights + weights.sum())

  def of_tables(x):
    sums = jnp.cumsum(jnp.exp(-jnp.abs(table @ jnp.ones((3, 100)))), 1)
    return jnp.cos(sums.T @ x[:40] * 0.01 + table[1, 0])

  def waited(x):
    """Some lanes make no step."""

    def step(s):
      i, x, same = s
      inner = lax.fori_loop(0, 3, lambda j, z: jnp.sin(z) + same[0], b)
      return i + 1, x * jnp.exp(same) + jax.jit(jnp.exp)(b) + inner, same

    return lax.while_loop(lambda s: s[0] < jnp.exp(s[2][0]), step, (c, x, b))

  def outer(x, y):
    inner = lambda s: (s[0] + 1, jnp.tanh(s[1] + jnp.exp(b) + jnp.sin(y)))
    test = lambda s: s[0] < 3 + jnp.exp(b[0]).astype(np.int32)
    x = lax.while_loop(test, inner, (0, x))[1]
    branch = lambda x: lax.fori_loop(0, 2, lambda _, x: of_matrices(x, b), x)
    return lax.cond(y > 0, branch, lambda x: x, x), x

  def loss(a, b):
    step = lambda x, y: (of_matrices(x, b) + y, x)
    return lax.scan(step, a, a)[1].sum()

  return (
      lax.fori_loop(0, 4, lambda _, x: of_matrices(x, b), a),
      lax.fori_loop(0, 4, lambda _, x: of_tables(x), jnp.ones(100) * a[0]),
      waited(a)[:2], lax.scan(outer, a, b), jax.grad(loss, (0, 1))(a, b),
      lax.fori_loop(0, jnp.abs(c) % 3, lambda _, x: of_matrices(x, b), a),
  )  # fmt: skip


@_family(
    (100,), (3, 100), (4,), (), dtypes=("float32", "float32", "int32", "int32")
)
def changes(a, b, c, d):
  """Large arrays change in few places; something may need the old ones."""
  n = len(a)
  by_lane = jnp.abs(c) % (n - 10)
  shared = jnp.array([3, n - 2, 3, n // 2])

  def looked_up(table, rows, indices):
    def step(s, i):
      s = jnp.tanh(s + table[i] + table[i + 1] * rows[i % 3].sum())
      return s + (rows[:, [i, 7]] ** 2).sum(), s

    return lax.scan(step, jnp.float32(0), indices)[1].sum()

  def carried(x, indices):
    step = lambda i, x: x.at[indices[i]].set(jnp.sin(x[indices[i] - 1]) + x[0])
    return jnp.sin(lax.fori_loop(0, 4, step, x)).sum()

  def shifted_rows(x):
    step = lambda x, i: (x.at[i].set(x[i - 1]), x[i, :: n // 2])
    last, before = lax.scan(step, x, jnp.arange(1, 3))
    return jnp.sin(last).sum() + jnp.cos(before).sum()

  def moved_rows(x):
    """Each gradient is added to the array that has it."""
    zeros = jnp.zeros_like(x)

    def moved(x, i, j):
      row = lax.dynamic_slice(x, (i, 0), (1, n))
      return lax.dynamic_update_slice(zeros, row, (j, 0))

    both = jax.jit(lambda x, i: moved(x, i, 0) + moved(x, 0, 2))
    step = lambda x, i: (x + both(x, i), None)
    return jnp.sin(lax.scan(step, x, jnp.arange(1, 3))[0]).sum()

  def chosen(which, x, y):
    one, two = lax.cond(
        which,
        lambda x, y: (x.at[c[0] % 9].set(1), y),
        lambda x, y: (y, x.at[3].add(y[5])),
        x, y,
    )  # fmt: skip
    both = lax.cond(which, lambda x: (x, x.at[1].set(9)), lambda x: (x, x), one)
    return two, *both, one + 1

  def chosen_often(x):
    def step(i, x):
      passed = lambda x: lax.fori_loop(
          0, 2, lambda j, x: x.at[i + j].add(x[j]) * 0.5, x
      )
      return lax.cond(x[i] > 0, passed, lambda x: x, x)

    return lax.fori_loop(0, 5, step, x)

  def waited(x):
    def step(s):
      inner = lax.fori_loop(0, 2, lambda j, x: x.at[s[0] + j].mul(2), s[1])
      inner = lax.cond(inner[0] > 0, lambda x: x - 1, lambda x: x, inner)
      return s[0] + 1, inner * 0.5

    return lax.while_loop(lambda s: s[0] < jnp.abs(d) % 5, step, (0, x))[1]

  def read_by_steps(x):
    return lax.fori_loop(0, 3, lambda i, y: y.at[i].add(x[i + 1]) * 0.5, x)

  def twice_the_same(x):
    step = lambda i, s: (
        s[0].at[i].set(s[1][i + 1]),
        s[1].at[i + 1].set(s[0][0]),
    )
    return lax.fori_loop(0, 3, step, (x, x))

  def read_by_condition(x):
    return lax.while_loop(
        lambda y: y[0] < 9 + x[0], lambda y: y.at[0].add(1.5), x
    )

  def from_a_part(x):
    step = lambda i, y: y.at[i].add(x[i] * y[i + 1])
    return lax.fori_loop(0, 3, step, x[: n - 10]), lax.fori_loop(
        0, 3, step, x[::-1]
    )

  def signs_of_zeros(x):
    minus = jnp.where(x < 99, -0.0, x)
    at = lax.dynamic_update_slice(jnp.zeros(2 * n), minus, (d,))
    return 1 / lax.pad(minus, np.float32(0), ((3, 5, 0),)), 1 / at

  # Each is new, so that nothing else reads it.
  new = (jnp.sin(a * k) for k in range(2, 99))
  same = next(new)
  return (
      [jax.grad(looked_up, (0, 1))(a, b, i) for i in (by_lane, shared)],
      [jax.grad(carried)(a, i) for i in (by_lane + 1, shared)],
      jax.grad(shifted_rows)(b), jax.grad(moved_rows)(b),
      jax.grad(lambda x: jnp.sin(chosen_often(x) * a).sum())(a),
      [chosen(which, next(new), next(new)) for which in (c[1] > 0, d > 0)],
      [chosen(which, same, same) for which in (c[1] > 0, jnp.sum(shared) > 0)],
      [f(next(new)) for f in (
          chosen_often, waited, read_by_steps, twice_the_same,
          read_by_condition, from_a_part, signs_of_zeros,
      )],
  )  # fmt: skip


@_family(
    (24,), (3, 24), (4,), (), dtypes=("float32", "float32", "int32", "int32")
)
def small_changes(a, b, c, d):
  """The same of arrays that are in memory only where indices vary."""
  return changes(a, b, c, d)


@_family(
    (6,), (20,), (9, 20), (20, 11), (),
    dtypes=[*["float32"] * 4, "int32"], shared=(2, 3, 4),
)  # fmt: skip
def uniform(a, b, c, d, e):
  """What the rows share is computed once, beside what they do not."""
  own = (jnp.abs(a[0]) * 4).astype(np.int32)

  def nested(i, x):
    inner = lax.while_loop(
        lambda s: s[0] < jnp.abs(e) % 4,
        lambda s: (s[0] + 1, s[1] + c[0]),
        (i, x),
    )
    return inner[1] * 0.5

  return (
      c @ d, c @ b, c[:2, :3] @ d[:3, :2], c[:2, :3] @ a[:3], c * b, c[e],
      c[:5, :3] @ a[:3], c[:5, :3] @ d[:3, :2],
      c.sum(0), jnp.cumsum(c, 1), jnp.argmax(c, 0), jnp.sort(c[0]),
      a.at[e].set(1.0), c.at[e].set(b), c.at[own].add(1.0), c[own], c[0, own],
      lax.dynamic_update_slice(c, c[:2, :2], (own, e)),
      jnp.where(a > 0, c[0, :6], a), lax.fori_loop(0, own, nested, c[1]),
      lax.cond(e > 0, jnp.sin, jnp.cos, a), lax.cond(e > 0, jnp.sin, jnp.cos, c),
      lax.cond(own > 2, lambda: c, lambda: c * 2), lax.sin(d[0]),
      # Some rows change what others read.
      lax.cond(own > 2, lambda x: x[:, 0], lambda x: x.at[e].set(9).sum(1), c * 3),
      lax.scan(lambda s, x: (s + x.sum() * a[0], s), c[0, 0], c),
      lax.fori_loop(0, 3, lambda i, s: (s[1], s[0] + a[0]), (c[0], b)),
      lax.fori_loop(0, jnp.abs(e) % 4, lambda i, s: s * 0.5 + i, (c + 1)),
  )  # fmt: skip


@_family((3,), (3,))
def calls(a, b):
  f = jax.custom_jvp(lambda x: x * x)
  f.defjvp(lambda x, t: (x[0] * x[0], 2 * x[0] * t[0]))
  g = jax.custom_vjp(lambda x: x**3)
  g.defvjp(lambda x: (x**3, x), lambda x, t: (3 * x * x * t,))
  h = jax.checkpoint(lambda x: jnp.sin(x * x))
  loss = lambda x: f(x).sum() + g(x).sum() + h(x).sum()
  return (
      f(a), g(b), h(a), jax.grad(loss)(a), jax.nn.relu(a), jax.nn.gelu(a),
      jax.nn.softplus(a), jax.vmap(jnp.multiply)(a, b),
      jax.jvp(jnp.sin, (a,), (b,)),
      lax.platform_dependent(a, cpu=jnp.sin, default=jnp.cos),
  )  # fmt: skip


@_family((4, 4), (4,), (4, 2))
def linear_algebra(a, b, c):
  positive = a @ a.T + jnp.eye(4)
  turned = -positive[::-1]
  solve = lambda a, b: jnp.linalg.solve(a @ a.T + jnp.eye(4), b).sum()
  triangular = jax.scipy.linalg.solve_triangular
  # From jax 0.10 on.
  reflected = getattr(lax.linalg, "ormqr", lambda a, taus, c, **_: c)
  return (
      jnp.linalg.cholesky(positive), jnp.linalg.cholesky(-positive),
      jnp.linalg.cholesky(positive.at[3, 3].set(-9)),
      jnp.linalg.solve(positive, b), jnp.linalg.solve(positive, c),
      triangular(positive, b, lower=True), triangular(positive, c, trans=1),
      jnp.linalg.inv(positive), jnp.linalg.slogdet(a), lax.linalg.lu(turned),
      lax.linalg.lu(turned.at[:, 1].set(0)),
      lax.linalg.lu_pivots_to_permutation(lax.linalg.lu(turned)[1], 4),
      jnp.linalg.inv(jnp.stack([positive, 3 * positive])[:, 1:3, 1:3]),
      jax.grad(solve, argnums=(0, 1))(a, b),
      reflected(a[:, :2], b[:2] / 8, c, transpose=True),
      reflected(a[:, :2], b[:2] / 8, c.T, left=False, transpose=True),
  )  # fmt: skip


@_family((7,), (7,), (5, 20), dtypes=("int32",))
def sorts(a, b, c):
  return (
      jnp.sort(c, 0), jnp.argsort(c, 1),
      jnp.sort(a), jnp.argsort(b), lax.sort_key_val(a, b), jnp.sort(b)[::-1],
      jnp.median(b), lax.sort([a, b], num_keys=2), lax.top_k(a, 3),
      lax.top_k(b, 7), lax.top_k(c, 4), lax.top_k(c.astype(np.float16), 2),
      jnp.searchsorted(jnp.sort(b), c[0]),
      *(p.bind(b, c[0, :7]) for p in (lax.eq_to_p, lax.le_to_p, lax.lt_to_p)),
      jnp.argmax(c, 1), jnp.argmin(c, 0), jnp.argmax(b), jnp.argmin(b),
  )  # fmt: skip


# With a key for each row, jax.vmap takes all bits of the first one.
@_family((2,), (), (4,), dtypes=("uint32", "float32", "uint32"), shared=(2,))
def random(a, b, c):
  first, second, third = jax.random.split(a, 3)
  typed = jax.random.wrap_key_data(a, impl="threefry2x32")
  step = lambda i, c: (
      jax.random.split(c[0])[0], c[1] + jax.random.normal(c[0])
  )  # fmt: skip
  return (
      jax.random.normal(first, (3,)), jax.random.uniform(second),
      jax.random.bits(third, (5,)), jax.random.randint(first, (3,), 0, 10),
      jax.random.bernoulli(second, 0.3, (4,)), jax.random.fold_in(third, 7),
      jax.random.permutation(first, 5), jax.random.exponential(second),
      jax.random.categorical(first, jnp.arange(4.0)),
      jax.random.normal(jax.random.split(typed)[1]),
      jax.random.normal(jax.random.key(a[0])), jax.random.PRNGKey(a[1]),
      *(jax.random.uniform(first, (5,), h) for h in (jnp.bfloat16, np.float16)),
      lax.fori_loop(0, 3, step, (typed, b))[1],
      lax.rng_bit_generator(c, (3, 5)),
      lax.rng_bit_generator(c | np.uint32(2**32 - 4), (99,), np.uint8),
      jax.random.uniform(jax.random.wrap_key_data(c, impl="rbg"), (2,)),
  )  # fmt: skip
