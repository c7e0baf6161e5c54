# SPDX-License-Identifier: Apache-2.0
"""What the build writes of a reference, and what it refuses."""

import itertools
import re

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.experimental
from jax.extend import core as jex_core
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.loops import errors
from jax_ffi_ops.loops import handler
from jax_ffi_ops.loops import kernels

_numbers = itertools.count()


def _declared(reference, signature="(n)->(n)", **others):
  others = {"dtypes": ("float32",)} | others
  op = kit.op(
      f"kernels_test_{next(_numbers)}",
      library=kit.Library("nowhere.so"),
      signature=signature,
      reference=reference,
      **others,
  )
  return op.declaration


def _text(reference, core, backward=False, shared=(), **declared):
  op = _declared(reference, **declared)
  found = kernels.kernels_of(op, [core], shared, backward)
  return handler.text(op, {"test_op": found})


def _lengthy(x):
  for _ in range(400):
    x = x * x
  return x


def _halved(total, _):
  return total * 0.5, total


def _added(x, y):
  return x.at[3].add(y)


def _sum_of_steps(x):
  def step(total, y):
    return total * 0.5 + y, total

  return jax.lax.scan(step, jnp.zeros((), x.dtype), x)[1]


class ConstantsTest(parameterized.TestCase):

  @parameterized.product(
      dtype=("int32", "float32"), half=("float16", "bfloat16")
  )
  def test_casts_of_large_constants_round(self, dtype, half):
    """JAX computes what small ones become, but no array of that many."""
    numbers = np.full(70000, 2049, dtype)

    def reference(x):
      cast = jnp.asarray(numbers).astype(half).astype(np.float32)
      return x + cast[: x.size].sum()

    self.assertIn("+ 8192.0f", _text(reference, {"n": 4}))  # 4 times 2048.


class RefusedTest(parameterized.TestCase):

  @parameterized.parameters(
      (
          lambda x: jnp.fft.irfft(jnp.fft.rfft(x), x.size),
          "fft: there is no rule",
      ),
      (
          lambda x: jax.lax.betainc(x, x, x),
          "beta: there is no rule .* outside of the op",
      ),
      (
          lambda x: jnp.sort(jnp.tile(x, 80))[: x.size],
          "sort: of 320 elements",
      ),
      (lambda x: x.at[0].apply(jnp.sin), "scatter: .*apply"),
  )
  def test_primitives(self, reference, message):
    with self.assertRaisesRegex(errors.Unsupported, message) as caught:
      _text(reference, {"n": 4})
    self.assertRegex(str(caught.exception), r"forward, \{'n': 4\}, \S+\.py:\d+")

  @parameterized.named_parameters(
      ("print", lambda x: jax.debug.print("{}", x), "debug_print"),
      ("debug", lambda x: jax.debug.callback(print, x), "debug_callback"),
      (
          "io",
          lambda x: jax.experimental.io_callback(np.sin, x, x),
          "io_callback",
      ),
  )
  def test_callbacks(self, call, name):
    """Their effects would be missing, also where no result needs them."""

    def in_loop(x):
      def step(total, y):
        call(y)
        return total + y, total

      return jax.lax.scan(step, x[0], x)[1]

    def beside(x):
      call(x[0])
      return x * 2

    for reference in (in_loop, beside):
      with self.assertRaisesRegex(
          errors.Unsupported,
          rf"kernels_test.py:\d+ \(.*\), {name}: a handler calls no Python: "
          "remove",
      ):
        _text(reference, {"n": 4})

  def test_callbacks_without_effects(self):
    """They do no harm where jax knows that no result needs them."""

    def reference(x, in_use):
      found = jax.lax.cond(
          jnp.array(in_use),
          lambda: jax.pure_callback(np.sin, x, x),
          lambda: x * 2,
      )
      jax.pure_callback(np.sin, x, x)
      return found

    self.assertIn(" * 2", _text(lambda x: reference(x, False), {"n": 4}))
    with self.assertRaisesRegex(
        errors.Unsupported, "pure_callback: a handler calls no Python: remove"
    ):
      _text(lambda x: reference(x, True), {"n": 4})

  def test_calls_with_constants(self):
    """From jax 0.12 on, a jaxpr that is called may have them."""
    table = np.arange(4, dtype=np.float32) + 0.5

    @jax.custom_vjp
    def function(x):
      return jax.jit(lambda x: x * table)(x)

    function.defvjp(lambda x: (x, x), lambda x, _: (x,))
    reference = lambda x: jax.jit(function)(x) + 1
    self.assertIn("3.5f", _text(reference, {}, signature="(4)->(4)"))

  def test_complex_numbers(self):
    with self.assertRaisesRegex(
        errors.Unsupported,
        r"kernels_test.py:\d+ \(<lambda>\): asin: .* complex",
    ):
      _text(lambda x: jnp.arcsin(x * 1j).real, {"n": 4})
    with self.assertRaisesRegex(errors.Unsupported, "cholesky: .* complex"):
      _text(
          lambda x: jnp.linalg.cholesky(x * 1j).real,
          {"n": 4},
          signature="(n,n)->(n,n)",
      )

  def test_long_bodies(self):
    with self.assertRaisesRegex(errors.Unsupported, "more than 16000 lines"):
      _text(_lengthy, {"n": 64})

  def test_names_the_line_in_a_loop(self):
    def reference(x):
      return jax.lax.scan(lambda c, y: (jax.lax.betainc(c, y, y), c), x[0], x)[
          1
      ]

    with self.assertRaisesRegex(
        errors.Unsupported, r"kernels_test.py:\d+ \(<lambda>\), regularized"
    ):
      _text(reference, {"n": 4})

  @parameterized.parameters(
      (
          {"attributes": {"orders": [np.int64]}},
          "attributes that are no scalars",
      ),
      (
          {"signature": "(n),(n)?->(n)", "operands": ("x", "y")},
          "optional operands",
      ),
      (
          {
              "signature": "(n)->(m)",
              "results": kit.Results(sizes={"m": lambda n: n}),
          },
          "with `Results.sizes`",
      ),
      ({"dtypes": None}, "no `dtypes`"),
      (
          {"derivatives": kit.Derivatives(skips_gradients=True)},
          "with `Derivatives.skips_gradients`",
      ),
      (
          {
              "derivatives": kit.Derivatives(jvp=lambda x, y, x_dot: x_dot * 2),
              "backward_pass": True,
          },
          "with its own rule of derivatives",
      ),
  )
  def test_declarations(self, declared, message):
    reference = lambda x, *_, **__: x * 2
    declared = dict(declared)
    backward = declared.pop("backward_pass", False)
    with self.assertRaisesRegex(errors.Unsupported, message):
      _text(reference, {"n": 4}, backward, **declared)

  def test_keys_of_a_while_under_vmap(self):
    def reference(x):
      key = jax.random.key(0)
      step = lambda c: (c[0], c[1] + jax.random.uniform(c[0]))
      one = lambda y: jax.lax.while_loop(lambda c: c[1] < y, step, (key, 0 * y))
      return jax.vmap(lambda y: one(y)[1])(x)

    with self.assertRaisesRegex(errors.Unsupported, "while: of keys of jax"):
      _text(reference, {"n": 4})

  def test_cores_of_other_names(self):
    with self.assertRaisesRegex(errors.Unsupported, r"has \['m'\]"):
      _text(jnp.sin, {"m": 4})
    with self.assertRaisesRegex(errors.Unsupported, r"lacks \['steps'\]"):
      _text(lambda x, steps: x, {"n": 4}, attributes={"steps": np.int64})
    with self.assertRaisesRegex(
        errors.Unsupported, r"no operand is named \['y'\]"
    ):
      _text(lambda x: x * 2, {"n": 4}, shared=["y"])

  def test_names_inside_other_names(self):
    """A primitive of another library, whose own name jax's names contain."""
    primitive = jex_core.Primitive("o")
    primitive.def_impl(lambda x: jnp.cos(x) * x)
    primitive.def_abstract_eval(lambda x: x)
    self.assertIn("Cos(", _text(lambda x: primitive.bind(x), {"n": 4}))
    primitive.def_impl(lambda x: (jax.debug.print("{}", x), x * 2)[1])
    with self.assertRaisesRegex(errors.Unsupported, "debug_print: a handler"):
      _text(lambda x: primitive.bind(x), {"n": 4})
    primitive.def_impl(
        lambda x: jnp.tan(x) + (primitive.bind(x[0]) if x.ndim else x)
    )
    text = _text(lambda x: primitive.bind(x), {"n": 4})
    self.assertEqual(text.count("Tan("), 5)
    primitive.def_impl(primitive.bind)
    with self.assertRaisesRegex(errors.Unsupported, "o: there is no rule"):
      _text(lambda x: primitive.bind(x), {"n": 4})

  @parameterized.parameters(
      (
          lambda x: jax.lax.scan(_halved, x[0], None, length=x.size + 1)[1][1:],
          "'size_n . 1' used in a context that requires a constant",
      ),
      (lambda x: x if x.size > 3 else 2 * x, "'size_n' > '3' is inconclusive"),
      (
          lambda x: jnp.stack([x[i] for i in range(x.size)]),
          "cannot be interpreted as an integer; it needs the size of n: give it",
      ),
  )
  def test_what_jax_cannot_trace(self, reference, message):
    """With the line of the author's, and without jax's traceback."""
    with self.assertRaisesRegex(
        errors.Unsupported,
        r"backward, kernels_test.py:\d+ \(<lambda>\): "
        r"jax cannot trace it: .*" + message,
    ):
      _text(reference, {}, backward=True)

  @parameterized.named_parameters(
      ("top_k", lambda x: jax.lax.top_k(x, x.size)[0]),
      ("associative_scan", lambda x: jax.lax.associative_scan(jnp.add, x)),
      ("sort", jnp.sort),
      ("cholesky", lambda x: jnp.linalg.cholesky(jnp.diag(x))[0]),
  )
  def test_what_needs_sizes(self, reference):
    with self.assertRaisesRegex(
        errors.Unsupported, r"; it needs the size of n: give it in cores$"
    ):
      _text(reference, {})
    _text(reference, {"n": 8})

  def test_what_needs_one_size_of_two(self):
    declared = {"signature": "(n),(m)->(n)"}
    with self.assertRaisesRegex(
        errors.Unsupported, "needs the size of m: give"
    ):
      _text(lambda x, y: x + jnp.sort(y)[0], {}, **declared)
    reference = lambda x, y: jnp.sort(x) + jnp.sort(y)[0]
    with self.assertRaisesRegex(errors.Unsupported, "of n and of m: give"):
      _text(reference, {}, **declared)
    with self.assertRaisesRegex(
        errors.Unsupported, "needs the size of n: give"
    ):
      _text(reference, {"m": 3}, **declared)

  @parameterized.named_parameters(
      (
          "fori",
          lambda x: jax.lax.fori_loop(
              0, jnp.int32(x[0]), lambda i, y: y * 2, x
          ),
      ),
      ("while", lambda x: jax.lax.while_loop(lambda y: y[0] < 3, jnp.exp, x)),
  )
  def test_loops_without_derivative(self, reference):
    with self.assertRaisesRegex(
        errors.Unsupported,
        r"kernels_test.py:\d+ \(<lambda>\): the loop has no derivative: give"
        " it one by jax.custom_jvp, or say backward = False where a BUILD file"
        " has the op$",
    ):
      _text(reference, {}, backward=True)

  def test_no_derivative(self):
    with self.assertRaisesRegex(errors.Unsupported, "backward = False"):
      _text(lambda x: x + 1, {"n": 4}, backward=True, dtypes=("int32",))


class TextTest(parameterized.TestCase):

  @parameterized.parameters(False, True)
  def test_is_the_same_each_time(self, backward):
    first, second = (
        _text(_sum_of_steps, {}, backward).partition("\n")[2] for _ in range(2)
    )
    self.assertEqual(first, second)

  def test_moves_of_arrays_without_axes(self):
    reference = lambda x: x * jax.lax.rev(x[0], ()) + jnp.flip(x[1], ())
    self.assertIn("MulAdd(", _text(reference, {"n": 4}))

  def test_keys_that_the_build_knows(self):
    def reference(x):
      keys = jax.random.split(jax.random.key(0))
      return x + jax.random.uniform(keys[1])

    number = np.float32(reference(np.float32(0)))
    self.assertIn(f" + {number!s}f;", _text(reference, {"n": 4}))

  def test_names_are_no_keywords(self):
    text = _text(lambda o, n: o * n, {}, True, signature="(n),(n)->(n)")
    self.assertIn("const int64_t size_n = block.sizes[0];", text)
    self.assertIn('{"n", kOperand1}', text)
    self.assertIn('{"do", kResult0}', text)

  def test_attributes_are_numbers_of_a_core(self):
    declared = {"steps": np.int64, "weight": np.float32, "kind": str}
    reference = lambda x, steps, weight, kind: x * weight * steps
    core = {"n": 4, "steps": 3, "weight": 0.25, "kind": "a"}
    text = " ".join(_text(reference, core, attributes=declared).split())
    self.assertIn("* 0.25f", text)
    self.assertIn("* 3.0f", text)
    self.assertIn('{"steps", S64}, {"weight", F32}, {"kind", kText}', text)
    self.assertIn("constexpr int64_t kValue0_0 = int64_t{3};", text)
    self.assertIn("constexpr float kValue0_1 = 0.25f;", text)
    self.assertIn('constexpr char kValue0_2[] = "a";', text)

  def test_open_dimensions_are_variables(self):
    text = _text(_sum_of_steps, {})
    self.assertIn("const int64_t size_n = block.sizes[0];", text)
    self.assertRegex(text, r"for \(int64_t t\d+ = 0; t\d+ < size_n; \+\+t\d+\)")

  def test_says_where_lines_come_from(self):
    self.assertRegex(
        _text(_sum_of_steps, {}), r"// add, kernels_test\.py:\d+ \(step\)"
    )

  def test_fuses_products_with_sums(self):
    text = _text(lambda x: x * x[0] - jnp.sum(x * x), {"n": 2})
    self.assertRegex(text, r"v\d+ = MulAdd\(v2, v2, v\d+\);")
    self.assertEqual(text.count("MulAdd("), 3)
    self.assertEqual(text.count(" * "), 1)  # The other products are unread.

  def test_long_functions_are_in_loops(self):
    """Also where what reads them is not; g++ makes vectors of a loop."""
    reference = lambda x: jnp.tanh(x) * 2
    for n, count in ((8, 8), (9, 1), (64, 1), (100, 1)):
      self.assertEqual(_text(reference, {"n": n}).count("Tanh("), count)

  def test_products_of_matrices_have_neighbors(self):
    text = " ".join(
        _text(lambda x: x @ x[0], {"n": 4}, signature="(n,n)->(n)").split()
    )
    self.assertRegex(
        text, r"Dot<1, 4, 4>\(m\d+, \{v1, v2, v3, v4\}, \{v1, v5, v9, "
    )
    text = _text(lambda x: x @ x[0], {"n": 3}, signature="(n,n)->(n)")
    self.assertNotIn("Dot<", text)
    declared = {"signature": "(n,n)->(n)", "dtypes": ("int32",)}
    text = _text(lambda x: x @ x[0], {"n": 4}, **declared)
    self.assertNotIn("Dot<", text)  # Integers wrap.

  def test_what_rows_share_is_scalar(self):
    declared = {"signature": "(n),(n)->(n)"}
    text = _text(
        lambda x, y: x * jnp.exp(y[0]), {"n": 3}, shared=["y"], **declared
    )
    self.assertRegex(text, r"const float v\d+ = Exp\(v\d+\);")
    text = _text(lambda x, y: x * jnp.exp(y[0]), {"n": 3}, **declared)
    self.assertRegex(text, r"const float_v v\d+ = Exp\(v\d+\);")

  def test_computes_nothing_twice(self):
    reference = lambda x: jnp.sin(x - x[0]) * jnp.cos(x - x[0])
    self.assertEqual(_text(reference, {"n": 9}).count("SinCos("), 1)

  def test_sines_beside_what_has_no_result(self):
    def reference(x):
      jax.lax.scan(lambda c, y: (c, None), (), x)
      return jnp.sin(x)

    self.assertIn("SinCos(", _text(reference, {"n": 4}))

  def test_equal_numbers_of_other_types_are_others(self):
    def reference(x):
      less = [-jnp.full(x.shape, 1, dtype) for dtype in (np.int32, np.uint32)]
      return x * less[0] + x * less[1]

    text = _text(reference, {"n": 4})
    self.assertIn(" * (-1.0f)", text)
    self.assertIn("4.2949673e+09f", text)

  def test_indices_that_vary(self):
    """A step indexes memory: it copies no registers there."""

    def varying(x):
      step = lambda i, x: x.at[i].set(x[i - 1])
      return jax.lax.fori_loop(1, 5, step, x)

    def fixed(x):
      step = lambda i, x: x.at[jnp.array([3, 1])].get() @ x[:2] * x
      return jax.lax.fori_loop(1, 5, step, x)

    for reference, n, in_registers in (
        (varying, 17, False),
        (varying, 16, True),
        (fixed, 17, True),
    ):
      text = _text(reference, {"n": n})
      self.assertEqual("float_v c" in text, in_registers, text)

  def test_changes_large_carries_in_place(self):
    def reference(x):
      step = lambda i, c: c.at[i].set(c[i] * 2)
      return jax.lax.fori_loop(0, x.size, step, x)

    # The copy that begins the loop, and the results.
    text = _text(reference, {"n": 1000})
    self.assertEqual(text.count("< 1000;"), 3)

  def _loops_in_steps(self, reference, backward=False):
    """Returns how many loops in steps of a scan go over all elements of x."""
    declared = {"signature": "(n),(t)->(n)"}
    text = _text(reference, {"n": 1000, "t": 9}, backward, **declared)
    steps = r"\n( *)for \(int64_t t.*?\n\1\}"
    found = [x[0] for x in re.finditer(steps, text, re.DOTALL)]
    self.assertNotEmpty(found)
    return "".join(found).count("< 1000;")

  @parameterized.named_parameters(
      ("cond", lambda x, y: jax.lax.cond(y > 0, _added, lambda x, _: x, x, y)),
      (
          "other_cond",
          lambda x, y: jax.lax.cond(y > 0, _added, lambda x, y: 2 * x, x, y),
          1,
      ),
      (
          "switch",
          lambda x, y: jax.lax.switch(
              jnp.int32(y), [_added, lambda x, _: x, jax.jit(_added)], x, y
          ),
      ),
      (
          "loop",
          lambda x, y: jax.lax.fori_loop(0, 3, lambda i, x: _added(x, y), x),
      ),
      (
          "while",
          lambda x, y: jax.lax.while_loop(
              lambda x: x[0] < y, lambda x: x.at[0].add(1), x
          ),
      ),
  )
  def test_passes_large_carries_on(self, step, others=0):
    reference = lambda x, ys: jax.lax.scan(
        lambda x, y: (step(x, y), None), x, ys
    )[0]
    self.assertEqual(self._loops_in_steps(reference), others)

  @parameterized.named_parameters(
      ("one", lambda x, y: x[jnp.int32(y)]),
      ("some", lambda x, y: x[jnp.int32(y) + jnp.arange(2)].sum()),
      ("two", lambda x, y: x[jnp.int32(y)] * x[jnp.int32(y) + 1]),
  )
  def test_gradients_of_lookups_change_their_places(self, read):
    def reference(x, ys):
      step = lambda total, y: (jnp.sin(total * read(x, y)), None)
      return jax.lax.scan(step, x[0], ys)[0] * x

    self.assertEqual(self._loops_in_steps(reference, True), 0)

  def test_gradients_of_changed_carries_change_their_places(self):
    def reference(x, ys):
      step = lambda x, y: (x.at[jnp.int32(y)].set(jnp.sin(x[3]) * y), None)
      return jax.lax.scan(step, x, ys)[0]

    self.assertEqual(self._loops_in_steps(reference, True), 0)

  @parameterized.product(
      case=[
          (lambda x, y: x * jnp.exp(x[0]) + jnp.exp(y[1]), "Exp(", 1),
          (lambda x, y: x + jax.jit(jnp.exp)(y), "Exp(", 0),
          (lambda x, y: jnp.outer(y, y) @ y + x, "Dot<", 0),
          (lambda x, y: x + jnp.cumsum(jnp.tile(y, 99))[: x.size], "< 396", 0),
      ],
      backward=(False, True),
  )
  def test_computes_before_a_loop_what_is_the_same(self, case, backward):
    step, operation, others = case

    def reference(x, y):
      own = lambda x, t: (jnp.sinh(step(x, y)), t)
      inner = lambda x, t: (jax.lax.scan(own, x, y)[0], None)
      return jax.lax.scan(inner, x, y)[0]

    declared = {"signature": "(n),(n)->(n)"}
    text = _text(reference, {"n": 4}, backward, **declared)
    loops = re.finditer(r"\n    for .*?\n    \}", text, re.DOTALL)
    forward, *_ = (x[0] for x in loops if "Sinh(" in x[0])
    self.assertEqual(forward.count(operation), others)
    self.assertIn(operation, text.partition(forward)[0])

  @parameterized.parameters(False, True)
  def test_leaves_out_carries_that_no_result_needs(self, backward):
    def reference(x):
      step = lambda c, y: ((c[0] * y, jnp.sin(c[1] * y)), jnp.sinh(c[1]))
      return jax.lax.scan(step, (x[0], x[1]), x)[0][0] * x

    text = _text(reference, {"n": 4}, backward)
    self.assertNotIn("Sin", text)
    self.assertNotIn("Cos", text)

  def test_loops_that_may_never_run_stay(self):
    def reference(x):
      inner = lambda: jax.lax.while_loop(lambda y: y > 1, lambda y: y, x[0])
      step = lambda s: (s[0] + 1, s[1] + inner() * jnp.exp(x))
      return jax.lax.while_loop(lambda s: s[0] < x[1], step, (0.0, x))[1]

    before, *inner = _text(reference, {"n": 4}).split("while (true)")
    self.assertIn("Exp(", before)
    self.assertLen(inner, 2)
    self.assertIn("break;", inner[0])  # The outer loop's own.

  def test_sums_see_products_that_are_the_same_in_each_step(self):
    def reference(x, y):
      step = lambda z, t: (z + y * y[0], jnp.exp(y * y[0]))
      return jax.lax.scan(step, x, None, length=3)

    declared = {"signature": "(n),(n)->(n),(3,n)", "outputs": ("a", "b")}
    text = _text(reference, {"n": 2}, **declared)
    self.assertRegex(
        text.partition("for (int64_t t")[2], r"MulAdd\(v\d, v\d, c"
    )

  def test_pads_once(self):
    """What is zeros but in one place is an array, as soon as it is read."""

    def reference(x):
      padded = jnp.pad(x * x[0], 100)
      return padded[3 : 3 + x.size] * padded[7 : 7 + x.size] - padded[: x.size]

    text = _text(reference, {"n": 1000})
    self.assertEqual(text.count("< 1200;"), 1)

  def test_changes_no_array_without_elements(self):
    def reference(x):
      return x, x[:0].at[x.astype(np.int32)].add(1.0)

    declared = {"signature": "(9)->(9),(0)"}
    self.assertNotIn("ClampIndex", _text(reference, {}, **declared))
    declared = {"signature": "(n),(9)->(n)"}
    reference = lambda x, i: x.at[i.astype(np.int32)].add(1.0)
    self.assertIn("if (size_n > 0) {", _text(reference, {}, **declared))

  def test_pads_in_the_results_memory(self):
    declared = {"signature": "(100)->(200)"}
    text = _text(lambda x: jnp.pad(2 * x, 50), {}, **declared)
    self.assertNotIn("scratch.Take", text)

  def test_adds_outer_products_to_large_carries_in_place(self):
    def reference(x, w):
      step = lambda h, _: (jnp.tanh(w @ h), None)
      return jax.lax.scan(step, x, jnp.zeros(9))[0]

    text = _text(reference, {"n": 9}, True, signature="(n),(n,n)->(n)")
    self.assertRegex(
        " ".join(text.split()),
        r"(a\d+\[[^\]]*\]) = \(MulAdd\(a\d+\[i\d+\], a\d+\[i\d+\], \1\)\);",
    )

  def test_squares_of_open_dimensions(self):
    text = _text(lambda x: (x + x.T) @ x, {}, signature="(n,n)->(n,n)")
    self.assertIn("Bytes<float_v>(size_n*size_n)", text)


if __name__ == "__main__":
  absltest.main()
