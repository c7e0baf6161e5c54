# SPDX-License-Identifier: Apache-2.0
"""What jax_ffi_ops.compile does with functions of all kinds.

The reference is the function itself, as jax computes it.
"""

import builtins
import dataclasses
import functools
import inspect
import mmap
import threading
from unittest import mock
import warnings

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops import linalg
from jax_ffi_ops.compiled import compile  # pylint: disable=redefined-builtin
from jax_ffi_ops.compiled import Compiled
from jax_ffi_ops.compiled import NotCompiledWarning
from jax_ffi_ops.compiled import sizes
from jax_ffi_ops.compiled import speed
from jax_ffi_ops.kit.testing.conformance.base import THOROUGH
from jax_ffi_ops.loops import kernels
from jax_ffi_ops.ops.cumsum import cumsum

# Sums of fewer than 100 products: what jax and the handler round differently.
_RTOL = 1e-4


def _loop(x, n=5):
  return jax.lax.fori_loop(0, n, lambda i, c: jnp.sin(c) + 0.1 * i, x)


class _Loop:

  def __call__(self, x):
    return _loop(x)


def _walk(key, x):
  def step(carry, _):
    key, x = carry
    key, own = jax.random.split(key)
    return (key, x + jax.random.normal(own, x.shape)), x.sum()

  return jax.lax.scan(step, (key, x), None, length=10)


def _fading(w, xs):
  return jax.lax.scan(lambda c, x: (c * w + x, None), jnp.float32(0), xs)[0]


def _doubled(x):
  """Returns a float and an integer: how often x is below 100."""
  return jax.lax.while_loop(
      lambda c: c[0] < 100, lambda c: (c[0] * 2, c[1] + 1), (x.max(), 0)
  )


def _recurrence(xs, decay):
  """The scan of a linear recurrent unit."""

  def step(state, x):
    state = decay * jnp.exp(1j * jnp.arange(4)) * state + x
    return state, (jnp.abs(state), state)

  return jax.lax.scan(step, jnp.zeros(4, decay.dtype), xs)


def _wave(x, dt):
  """Steps of a Schroedinger equation."""

  def step(_, psi):
    change = jnp.roll(psi, 1) + jnp.roll(psi, -1) - (2 + x) * psi
    psi = (psi + 0.5j * dt * change) / (1 + 0.5j * dt * x)
    return psi / jnp.linalg.norm(psi)

  return jax.lax.fori_loop(0, 30, step, jnp.exp(1j * x) + 0.1)


def _pulled(function, c, x, scale):
  """Values for each row of x, and gradients by both operands."""
  run = lambda x, scale: jax.vmap(c(function, strict=True), (0, None))(x, scale)
  found, pull = jax.vjp(run, x, scale)
  return found, pull(found)


_X = np.linspace(-1, 1, 7, dtype=np.float32)
_TABLE = np.linspace(0, 1, 300, dtype=np.float32)


def _key_data(tree):
  is_key = lambda x: jnp.issubdtype(x.dtype, jax.dtypes.prng_key)
  return jax.tree.map(
      lambda x: jax.random.key_data(x) if is_key(x) else x, tree
  )


# Complex gradients. g++ takes seconds for each.
_PULLED = (
    ("a linear recurrence", _recurrence, _TABLE[:20], 0.5 + 0.6j, 64),
    ("a linear recurrence", _recurrence, _TABLE[:20], 0.5 + 0.6j, 1),
    ("a wave", _wave, _X, 1e-3, 64),
    ("a wave", _wave, _X, 1e-3, 1),
)[: None if THOROUGH else 1]


# Each takes what compiles functions, and then arguments.
_CALLS = {
    "eager": (lambda c, x: c(_loop)(x), _X),
    "jit": (lambda c, x: jax.jit(c(_loop))(x), _X),
    "a partial": (lambda c, x: c(functools.partial(_loop, n=3))(x), _X),
    "an object": (lambda c, x: c(_Loop())(x), _X),
    "pytrees": (
        lambda c, d: c(lambda d: {"a": _loop(d["x"]) * d["s"], "b": (_X,)})(d),
        {"x": _X, "s": 2.0},
    ),
    "weak types": (lambda c, x: c(lambda x: (x * 1, x + _X))(x), 2.0),
    "gradient": (lambda c, x: jax.grad(lambda x: c(_loop)(x).sum())(x), _X),
    "jvp": (lambda c, x: jax.jvp(c(_loop), (x,), (x,)), _X),
    "hessian": (lambda c, x: jax.hessian(lambda x: c(_loop)(x).sum())(x), _X),
    "linearize": (lambda c, x: jax.linearize(c(_loop), x)[1](x), _X),
    "linear transpose": (
        lambda c, x: jax.linear_transpose(c(lambda x: 2 * jnp.cumsum(x)), x)(x),
        _X,
    ),
    "checkpoint": (
        lambda c, x: jax.grad(lambda x: jax.checkpoint(c(_loop))(x).sum())(x),
        _X,
    ),
    "in a scan": (
        lambda c, x: jax.lax.scan(
            lambda y, _: (c(_loop)(y), y.sum()), x, None, length=3
        ),
        _X,
    ),
    "vmap": (lambda c, x: jax.vmap(c(_loop))(x), np.stack([_X] * 20)),
    "vmap of gradients": (
        lambda c, x: jax.vmap(jax.grad(lambda x: c(_loop)(x).sum()))(x),
        np.stack([_X] * 5),
    ),
    "vmap with a shared operand": (
        lambda c, x: jax.vmap(
            c(lambda x, w: _loop(x) @ w), in_axes=(0, None)
        )(x, np.ones((7, 3), np.float32)),
        np.stack([_X] * 40),
    ),
    "empty": (lambda c, x: c(_loop)(x), np.zeros(0, np.float32)),
    "no arguments": (lambda c: c(lambda: _loop(_X))(),),
    "keys": (lambda c, k: _key_data(c(_walk)(k, _X)), jax.random.key(3)),
    "a key in a closure": (
        lambda c, x: c(lambda x: _walk(jax.random.key(1), x)[1])(x),
        _X,
    ),
    "a large table in a closure": (
        lambda c, w: c(lambda w: _fading(w, _TABLE))(w),
        np.float32(0.5),
    ),
    "a tracer in a closure": (
        lambda c, w: jax.grad(lambda w: c(lambda x: _fading(w, x))(_X))(w),
        0.5,
    ),
    "a mapped tracer in a closure": (
        lambda c, w: jax.vmap(lambda w: c(lambda x: _fading(w, x))(_X))(w),
        _X,
    ),
    "integers": (
        lambda c, n: c(lambda n: jax.lax.fori_loop(0, n, jnp.add, n))(n),
        5,
    ),
    "integer results": (lambda c, x: c(_doubled)(x), _X),
    "results that are operands": (lambda c, x: c(lambda x, y: (y, x))(x, 1), _X),
    "constant results": (lambda c, x: c(lambda x: (x, jnp.ones(3)))(x), _X),
    "complex numbers": (
        lambda c, x: c(lambda x: _loop(x * 1j).real)(x),
        _X,
    ),
    **{
        f"{name} of {rows} rows": (
            functools.partial(_pulled, function), np.stack([x] * rows), scale
        )
        for name, function, x, scale, rows in _PULLED
    },
}  # fmt: skip


def _plain(function, **options):
  del options
  return jax.jit(function)


class CompileTest(parameterized.TestCase):

  def check(self, got, expected):
    """Values are alike, and types are equal."""
    jax.tree.map(self._check, got, expected)
    self.assertEqual(jax.tree.structure(got), jax.tree.structure(expected))

  def _check(self, got, expected):
    rtol = _RTOL
    if jnp.issubdtype(expected.dtype, jnp.inexact):
      rtol = max(rtol, 8 * float(jnp.finfo(expected.dtype).eps))
    np.testing.assert_allclose(got, expected, rtol, rtol)
    kind = lambda x: (x.dtype, x.shape, x.weak_type)
    self.assertEqual(kind(got), kind(expected))

  @parameterized.named_parameters(
      (k.title().replace(" ", ""), *v) for k, v in _CALLS.items()
  )
  def test_calls(self, call, *args):
    with warnings.catch_warnings():
      warnings.simplefilter("ignore", NotCompiledWarning)
      self.check(call(compile, *args), call(_plain, *args))

  @parameterized.parameters(
      "float64",
      "int64",
      "uint8",
      "float16",
      "bfloat16",
      "complex64",
      "complex128",
  )
  def test_dtypes(self, dtype):
    x = np.arange(1, 9)
    function = lambda x: jax.lax.fori_loop(0, 3, lambda i, c: c * c + c, x)
    with jax.enable_x64(True):
      x = jnp.asarray(x, dtype)
      self.check(compile(function)(x), jax.jit(function)(x))

  @parameterized.product(
      dtypes=(("int8", "int32"), ("int32", "int64"), ("bool", "bool")),
      rows=(1, 9),
      n=(3, 9),
  )
  def test_products_of_other_dtypes(self, dtypes, rows, n):
    """They have the dtype of the result before they are multiplied."""
    dtype, wide = dtypes
    x = np.random.default_rng(n).integers(
        0, 2 if dtype == "bool" else 99, (n, n)
    )
    x = (x << 20 * (dtype == "int32")).astype(dtype)
    with jax.enable_x64(True):
      product = lambda a, b: jax.lax.dot(a, b, preferred_element_type=wide)
      fast = jax.vmap(compile(product, strict=True), (0, None))
      found = fast(np.stack([x] * rows), x.T)
    expected = x.astype(wide) @ x.T.astype(wide)
    np.testing.assert_array_equal(found, [expected] * rows)

  def test_static_arguments(self):
    fast = compile(_loop, static_argnames="n")
    self.check(fast(_X, n=3), _loop(jnp.asarray(_X), 3))
    self.check(fast(_X, 4), _loop(jnp.asarray(_X), 4))
    with self.assertRaisesRegex(TypeError, "abstract array"):
      fast("text")

  def test_is_a_decorator(self):
    @compile(static_argnames=("n",))
    def named(x, n):
      """Says what it does."""
      return _loop(x, n)

    self.assertEqual(
        (named.__name__, named.__doc__), ("named", "Says what it does.")
    )
    self.check(named(_X, 2), _loop(jnp.asarray(_X), 2))

  def test_is_a_method(self):
    """The object is the first argument: a pytree, or static."""

    @jax.tree_util.register_dataclass
    @dataclasses.dataclass(frozen=True)
    class Decay:
      rate: jax.Array

      @compile
      def after(self, x):
        return jax.lax.fori_loop(0, 3, lambda i, c: c * self.rate, x)

    decay = Decay(jnp.float32(0.5))
    np.testing.assert_array_equal(decay.after(_X), _X / 8)
    np.testing.assert_array_equal(
        jax.vmap(decay.after)(_X[:, None])[:, 0], _X / 8
    )
    gradient = jax.grad(lambda decay: decay.after(1.0))(decay)
    self.assertEqual(gradient, Decay(0.75))
    self.assertIsInstance(Decay.after, Compiled)

    class Steps:

      @compile(static_argnames="self")
      def sines(self, x):
        return _loop(x, self.n)

    for n in (2, 3):
      steps = Steps()
      steps.n = n
      self.check(steps.sines(_X), _loop(jnp.asarray(_X), n))

  def test_wrong_options(self):
    for options, message in [
        ({"least_rows": 4}, "least_rows must be two numbers.* got 4"),
        ({"least_rows": (1, "a")}, "least_rows must be .*'a'"),
        ({"is_faster": True}, "is_faster must be a function, got True"),
        ({"function": 5}, "function must be a function, got 5"),
    ]:
      with self.assertRaisesRegex(TypeError, message):
        compile(**options)
    for rows in (1, (0, 1), (1.5,)):
      with self.assertRaisesRegex(TypeError, "rows must be numbers of rows"):
        compile(_loop).benchmark(_X, rows=rows)

  def test_errors_name_the_caller(self):
    """Its function; and its argument if each is one array."""

    def branching(x, y=1, z=2):
      return x if jax.tree.leaves(y)[-1] > 0 else -x

    line = inspect.getsourcelines(branching)[1]
    for y, argument in [(1, "y"), ({"a": 1, "b": 2}, r"words\[2\]")]:
      with self.assertRaisesRegex(
          jax.errors.TracerBoolConversionError,
          rf"(?s)branching at {__file__}:{line} .*the argument {argument}\.",
      ):
        compile(branching)(_X, y)

  def test_repr(self):
    fast = compile(_loop)
    self.assertEqual(repr(fast), "<compiled _loop>")
    jax.eval_shape(fast, _X), jax.eval_shape(fast, 1.0)
    self.assertEqual(repr(fast), "<compiled _loop of float32(7); float32()>")

  def test_compiles_what_a_program_needs(self):
    fast = compile(_loop)
    fast(_X)
    self.assertLen(fast.libraries, 1)
    fast(_X + 1)
    self.assertLen(fast.libraries, 1)
    jax.vmap(fast)(np.stack([_X] * 50))
    widths = 1 + (kit.cpu_level() >= 3)  # Without vectors, one is for all.
    self.assertLen(fast.libraries, widths)
    jax.grad(lambda x: fast(x).sum())(_X)
    self.assertLen(fast.libraries, widths + 1)

  def test_equal_functions_share_objects(self):
    first, second = compile(lambda x: _loop(x, 9)), compile(
        lambda x: _loop(x, 9)
    )
    first(_X), second(_X)
    self.assertEqual(first.libraries, second.libraries)

  def test_equal_functions_of_other_lines_share_objects(self):
    """As in a cell of a notebook that is changed above them."""
    text = inspect.getsource(_loop)
    found = set()
    for above in ("", "\n" * 9, "\n" * 99):
      names = {"jax": jax, "jnp": jnp}
      exec(builtins.compile(above + text, "cell.py", "exec"), names)
      fast = compile(lambda x, f=names["_loop"]: f(x, 8))
      fast(_X)
      found.add(fast.libraries)
    self.assertLen(found, 1)

  def test_in_another(self):
    """Both are one program, also where jax has traced the inner one before."""
    inner = compile(_loop)
    jitted = jax.jit(lambda x: inner(x) + 1)
    expected = jitted(_X)

    def outer(x):
      step = lambda c, _: (jitted(inner(c)), None)
      return jax.lax.scan(step, x, None, length=3)[0]

    fast = compile(outer, strict=True)
    found = fast(_X)
    np.testing.assert_allclose(found, outer(_X), _RTOL)
    np.testing.assert_allclose(jitted(_X), expected)
    self.assertLen(fast.libraries, 1)

  def test_ops(self):
    """Also those that have the names of jax's primitives."""
    # It is symmetrized.
    a = np.float32([[4, 2, 0, 1], [0, 3, 1, 0], [1, 0, 5, 0], [0, 1, 0, 4]])

    def function(a, b):
      def step(x, _):
        return linalg.solve(a, cumsum(x)), None

      x, _ = jax.lax.scan(step, b, None, length=2)
      return linalg.cholesky(a), linalg.qr(a), x

    fast = compile(function, strict=True)
    b = np.float32([1, 2, 3, 4])
    loss = lambda f: lambda a: sum(map(jnp.sum, jax.tree.leaves(f(a, b))))
    for got, want in zip(
        jax.tree.leaves((fast(a, b), jax.grad(loss(fast))(a))),
        jax.tree.leaves((function(a, b), jax.grad(loss(function))(a))),
        strict=True,
    ):
      np.testing.assert_allclose(got, want, _RTOL, 1e-5)

  @parameterized.parameters(jax.custom_jvp, jax.custom_vjp)
  def test_ops_in_rules_of_the_caller(self, custom):
    """The gradient is twice that of each cumsum, as the rule says."""
    own = custom(lambda x: cumsum(x))
    if custom is jax.custom_jvp:
      own.defjvp(lambda x, dx: (cumsum(*x), 2 * cumsum(*dx)))
    else:
      own.defvjp(
          lambda x: (cumsum(x), ()),
          lambda _, dy: (2 * cumsum(dy, reverse=True),),
      )
    fast = compile(
        lambda x: jax.lax.fori_loop(0, 3, lambda _, x: own(x), x), strict=True
    )
    sums = np.linalg.matrix_power(np.tri(7), 3)
    np.testing.assert_allclose(fast(_X), sums @ _X, _RTOL, 1e-5)
    gradient = jax.grad(lambda x: fast(x).sum())(_X)
    np.testing.assert_array_equal(gradient, 8 * sums.sum(0))

  def test_arrays_of_keys(self):
    def drawn(keys):
      def step(keys, i):
        own = jax.vmap(jax.random.split)(keys)
        first = jax.vmap(jax.random.fold_in)(own[:, 0], jnp.arange(3))
        folded = jax.vmap(lambda k: jax.random.fold_in(k, i))(first)
        bits = jax.vmap(lambda k: jax.random.bits(k, (2,)))(folded)
        return own[:, 1], bits

      keys, bits = jax.lax.scan(step, keys, jnp.arange(4))
      return jax.random.key_data(keys), bits

    keys = jax.random.split(jax.random.key(3), 3)
    fast = compile(drawn, strict=True)
    self.check(fast(keys), jax.jit(drawn)(keys))

  def test_gradients_that_all_rows_share(self):
    """That of a linear function is computed once."""
    step = lambda c, x: (0.5 * c + x, c * 2)
    fast = compile(lambda x: jax.lax.scan(step, 0.0, x)[1])
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    for loss, rows in (jnp.sum, 0), (lambda y: jnp.sum(y * y), 1):
      gradient = jax.vmap(jax.grad(lambda x, loss=loss: loss(fast(x))))
      self.assertIn(f"batch_rank={rows})", str(jax.make_jaxpr(gradient)(x)))
      self.assertEqual(gradient(x[:0]).shape, (0, 4))
    linear = jax.vmap(jax.grad(lambda x: fast(x).sum()))(x)
    np.testing.assert_array_equal(linear, [[3.5, 3, 2, 0]] * 3)
    square = compile(lambda x: jax.lax.scan(step, 0.0, x * x)[1])
    found = jax.vmap(jax.grad(lambda x: square(x).sum()))(x)
    np.testing.assert_array_equal(found, linear * 2 * x)

  @parameterized.parameters(5, 20)
  def test_gradients_of_products(self, n):
    """jax's are of a reshape that permutes axes, too."""
    x = np.linspace(0.5, 1.5, 3 * n, dtype=np.float32).reshape(3, n)
    fast = compile(lambda x: x.prod(1), strict=True)
    found = jax.grad(lambda x: fast(x).sum())(x)
    expected = np.float64(x).prod(1, keepdims=True) / x
    np.testing.assert_allclose(found, expected, n * 2**-22)

  def test_without_jit(self):
    seen = []
    fast = compile(lambda x: seen.append(x) or x + 1)
    with jax.disable_jit():
      self.assertEqual(fast(1), 2)
    self.assertEqual(seen, [1])

  def test_threads(self):
    fast = compile(lambda x: _loop(x, 11))
    found = [None] * 8

    def run(i):
      found[i] = fast(_X)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(8)]
    for thread in threads:
      thread.start()
    for thread in threads:
      thread.join()
    for own in found:
      self.check(own, _loop(jnp.asarray(_X), 11))


def _convolved(a):
  """What has no rule, and derivatives."""
  return jnp.convolve(a[0], a[1], mode="same")


class RefusedTest(parameterized.TestCase):
  """Programs that cannot be compiled as a whole."""

  def _refused(self, x):
    return jax.lax.fori_loop(0, 3, lambda i, a: a * _convolved(a), x)

  def test_warns_once_and_explains(self):
    fast, x = compile(self._refused), np.eye(4, dtype=np.float32) + 1
    reason = (
        r"_refused, forward, compile_test.py:\d+ \(.*\), .*: there is no rule"
    )
    with self.assertWarnsRegex(NotCompiledWarning, reason) as caught:
      found = fast(x)
    self.assertEqual(caught.filename, __file__)
    np.testing.assert_allclose(found, self._refused(x), 1e-5)
    self.assertRegex(kit.explain(fast, x), "jax alone runs .*" + reason)
    with warnings.catch_warnings():
      warnings.simplefilter("error")
      fast(x + 1)

  def test_faults_of_ours(self):
    fast = compile(_loop)
    with mock.patch.object(kernels, "kernels_of", side_effect=KeyError("x")):
      with self.assertWarnsRegex(NotCompiledWarning, "a fault: KeyError: 'x'"):
        found = fast(_X)
    np.testing.assert_allclose(found, _loop(_X), 1e-5)

  def test_strict(self):
    fast = compile(self._refused, strict=True)
    with warnings.catch_warnings():
      warnings.simplefilter("error")
      with self.assertRaisesRegex(ValueError, "must run a handler: .*no rule"):
        fast(np.eye(4, dtype=np.float32))

  def test_loops_alone(self):
    """What is outside of the loops may be anything."""

    def function(a, x):
      q = _convolved(a) * a
      step = lambda c, t: (jnp.tanh(q @ c) + t, c)
      y = jax.lax.scan(step, x[:4], jnp.arange(6.0))[1]
      z = jax.lax.cond(x[0] > 0, _loop, lambda x: -_loop(x), x)
      key = jax.random.key(3)
      key = jax.lax.fori_loop(0, 5, lambda i, k: jax.random.split(k)[0], key)
      return y.sum() + z.sum() + jax.random.normal(key)

    a = np.eye(4, dtype=np.float32) + 0.1
    fast = compile(function)
    with warnings.catch_warnings():
      warnings.simplefilter("error")
      for own, expected in [
          (fast(a, _X), function(a, _X)),
          (jax.grad(fast)(a, _X), jax.grad(function)(a, _X)),
      ]:
        np.testing.assert_allclose(own, expected, 1e-4, 1e-5)
    self.assertLen(fast.libraries, 4)  # Three loops, and a gradient of one.

  def test_no_derivative(self):
    def function(x):
      return jax.lax.while_loop(lambda c: c < 100, lambda c: c * 2, x)

    fast = compile(function)
    self.assertEqual(fast(1.0), 128)
    with self.assertWarnsRegex(
        NotCompiledWarning, "the loop has no derivative"
    ):
      with self.assertRaisesRegex(ValueError, "Reverse-mode differentiation"):
        jax.grad(fast)(1.0)


class SizesTest(parameterized.TestCase):
  """Calls of several sizes."""

  def test_one_kernel_for_many_sizes(self):
    function = lambda x: jax.lax.scan(
        lambda c, t: (jnp.sin(c) + t, c * t), x[0], x
    )
    fast = compile(function)
    for n in (50, 100, 200, 70, 17, 3, 1):
      x = jnp.linspace(0, 1, n)
      np.testing.assert_allclose(fast(x)[1], function(x)[1], 1e-5, 1e-6)
    self.assertLen(fast.ops, 2)
    x = jnp.linspace(0, 1, 33)
    np.testing.assert_allclose(
        jax.grad(lambda x: fast(x)[0])(x),
        jax.grad(lambda x: function(x)[0])(x),
        1e-5,
        1e-6,
    )
    self.assertLen(fast.ops, 2)

  def test_direct_calls_of_empty_arrays(self):
    """A kernel for any size reads the first element."""
    fast = compile(lambda x: _loop(x[0]), strict=True)
    for n in (50, 100):
      fast(jnp.ones(n))
    (target,) = fast.ops[1].declaration.library.objects
    call = jax.ffi.ffi_call(target, jax.ShapeDtypeStruct((), "float32"))
    self.assertEqual(call(jnp.ones(1)), fast(jnp.ones(100)))
    with self.assertRaisesRegex(
        jax.errors.JaxRuntimeError,
        r"x0 must have size 1 or more in dimension 0, got shape \[0\]",
    ):
      call(jnp.ones(0))

  def test_offsets_of_more_than_32_bits(self):
    # Memory takes no space before somebody writes to it.
    x = np.frombuffer(mmap.mmap(-1, 2**31 + 2**20), np.int8).reshape(-1, 2**16)
    x[-1, -1] = 7
    places = np.int32([[-1, -1]] * 9) + x.shape

    def sum_of_three(x, i):
      step = lambda k, total: total + x[i[0] - k, i[1] - k]
      return jax.lax.fori_loop(0, 3, step, jnp.int8(0))

    fast = compile(sum_of_three, strict=True)
    many = jax.vmap(fast, (None, 0))
    for part, want in ((x, 7), (x[:20], 0), (x[1:], 7)):  # Two of any size.
      self.assertEqual(fast(part, places[0]), want)
      np.testing.assert_array_equal(many(part, places), [want] * 9)
    self.assertLen(fast.ops, 2)

  def test_sizes_under_other_settings_of_jax(self):
    """What jax makes of a function depends on its settings, too."""

    def function(x):
      return jax.lax.scan(lambda c, t: (c * 0.5 + t, c), jnp.zeros(()), x)

    fast = compile(function)
    for n in (50, 100):
      fast(jnp.ones(n, jnp.float32))
    x = jnp.linspace(0, 1, 200, dtype=jnp.float32)
    with jax.enable_x64(True):
      found, expected = fast(x), function(x)
    for own, other in zip(found, expected):
      self.assertEqual(own.dtype, other.dtype)
      np.testing.assert_allclose(own, other, 1e-12)

  def test_sizes_of_another_thread(self):
    """One finds a pattern while another adds one."""
    function = lambda x, y: _fading(jnp.float32(0.5), x) * _fading(y[0], y)
    fast = compile(function)

    def check(n, m):
      x, y = jnp.linspace(0, 1, n), jnp.linspace(0.1, 0.2, m)
      np.testing.assert_allclose(fast(x, y), function(x, y), 1e-5)

    other = threading.Thread(target=check, args=(50, 60))
    fits = sizes.fits

    def slow(*args):
      if other.ident is None:
        other.start()
        other.join()
      return fits(*args)

    check(40, 50)
    check(50, 50)
    with mock.patch.object(sizes, "fits", slow):
      check(60, 70)
    self.assertLen(fast.ops, 3)

  def test_gradient_that_depends_on_sizes(self):
    """As jax makes it; the function itself is compiled for any size."""
    function = lambda x: jnp.sum(jax.lax.cummax(x) * x) * _loop(x[0])
    for gradients in (False, True):
      fast = compile(function, strict=True)
      ours, theirs = fast, function
      if gradients:
        ours, theirs = jax.grad(fast), jax.grad(function)
      for n in (40, 50, 60):
        x = jnp.sin(jnp.arange(n, dtype=np.float32))
        np.testing.assert_allclose(ours(x), theirs(x), 1e-4, 1e-5)
      self.assertLen(fast.ops, 3 if gradients else 2)

  def test_small_sizes_are_fixed(self):
    fast = compile(_loop)
    for n in (3, 4, 5):
      fast(jnp.ones(n))
    self.assertLen(fast.ops, 3)

  def test_sizes_that_cannot_be_open(self):
    """The result has a size that no signature knows."""
    function = lambda x: jnp.outer(_loop(x), x).ravel()
    fast = compile(function)
    for n in (20, 30, 40):
      x = jnp.linspace(0, 1, n)
      np.testing.assert_allclose(fast(x), function(x), 1e-5, 1e-6)


class CopiesTest(parameterized.TestCase):
  """Rows of many elements, which become lanes as a whole, and rows again."""

  # A vector and a part of one; of all squares, the last ones are smaller.
  @parameterized.parameters(
      *[(11, np.float32), (37, np.float64)][: 1 + THOROUGH]
  )
  def test_rows_of_many_elements(self, rows, dtype):
    def function(x, y, n):
      sums = jax.lax.scan(lambda c, t: (c + t,) * 2, x[0, 0] * 0, x.ravel())[1]
      return sums, x.T + 2 * y, n[::-1] + 1

    rng = np.random.default_rng(0)
    draw = lambda *shape: rng.integers(-99, 99, shape)
    x, y = draw(rows, 16, 32).astype(dtype), draw(2, 32, 16).astype(dtype)
    n = draw(rows, 77)
    with jax.enable_x64(dtype == np.float64):
      fast = compile(function, strict=True)
      inner = jax.vmap(fast, (0, None, 0))
      # Each y is that of all rows of x.
      found = jax.vmap(inner, (None, 0, None))(x, y, n)
    sums = x.reshape(rows, 512).cumsum(1)
    moved = x.swapaxes(1, 2) + 2 * y[:, None]
    for own, want in zip(found, (sums, moved, n[:, ::-1] + 1)):
      np.testing.assert_array_equal(own, np.broadcast_to(want, own.shape))


class ChoiceTest(parameterized.TestCase):
  """Whether a call runs what was compiled."""

  def test_products_of_large_matrices_are_those_of_jax(self):
    def function(w, x):
      return jax.lax.fori_loop(0, 9, lambda i, x: jnp.tanh(w @ x), x)

    fast = compile(function)
    w, x = np.ones((64, 64), np.float32), np.ones(64, np.float32)
    self.assertIn("forward: reference (it is faster)", kit.explain(fast, w, x))
    self.assertIn("forward: handler", kit.explain(fast, w[:8, :8], x[:8]))
    always = compile(function, least_rows=(1, 1))
    self.assertIn("forward: handler", kit.explain(always, w, x))

  def test_large_arrays_are_those_of_jax(self):
    """But for random ones, up to some size."""

    def least(n, draw):
      def step(carry, _):
        key, x = carry
        key, own = jax.random.split(key)
        more = jax.random.uniform(own, (n,)) if draw else x * x
        return (key, x + more), None

      start = jax.random.key(0), jnp.zeros(n)
      loop = lambda: jax.lax.scan(step, start, length=3)[0][1]
      return speed.least_rows(jax.make_jaxpr(loop)().jaxpr)[0]

    self.assertEqual(least(2048, False), 1)
    self.assertEqual(least(4096, False), speed.NEVER)
    self.assertEqual(least(4096, True), 1)
    self.assertEqual(least(32768, True), speed.NEVER)

  def test_large_products_outside_of_loops_are_those_of_jax(self):
    def is_large(*shapes):
      function = lambda a, b: _loop((a @ b).ravel())
      jaxpr = jax.make_jaxpr(function)(*map(jnp.zeros, shapes)).jaxpr
      return speed.has_large_work_outside(jaxpr)

    for n, of_matrices, of_vectors in [
        (50, False, False),
        (51, True, False),
        (128, True, True),
    ]:
      self.assertEqual(is_large((n, n), (n, n)), of_matrices)
      self.assertEqual(is_large((n, n), (n,)), of_vectors)

  def test_rows(self):
    fast = compile(_loop, least_rows=(4, 1))
    text = kit.explain(fast, _X)
    self.assertIn("forward: reference (it is faster below 4 rows)", text)
    self.assertIn("backward: handler", text)
    text = kit.explain(jax.vmap(fast), np.stack([_X] * 4))
    self.assertIn("forward: handler", text)

  def test_using(self):
    fast = compile(_loop)
    with kit.using("reference"):
      fast(_X)
    self.assertEmpty(fast.libraries)


if __name__ == "__main__":
  absltest.main()
