# SPDX-License-Identifier: Apache-2.0
"""What a declaration says beyond shapes: names, rules, weights, choices."""

import sys
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops import map_coordinates
from jax_ffi_ops import quantile
from jax_ffi_ops import rms_norm
from jax_ffi_ops import sort
from jax_ffi_ops import top_k
from jax_ffi_ops.kit.calls.backward import BackwardCall
from jax_ffi_ops.kit.calls.forward import ForwardCall
from jax_ffi_ops.kit.declare.value import Value
import python_process

_X = np.ones((2, 4), np.float32)
_W = np.ones(4, np.float32)
_LONG = np.ones(10000, np.float32)


def library(platforms=()):
  """A library with handlers that are not to be reached."""
  made = mock.create_autospec(kit.Library, instance=True, path="lib.so")
  made.prefix = "kit_"
  made.declare.return_value = frozenset(platforms)
  made.cores.return_value = None
  made.ready.side_effect = lambda received, exported: received.target
  made.exported.side_effect = lambda target: target
  return made


def declare(signature="(n)->(n)", platforms=(), **kwargs):
  return kit.op(
      "test_op", signature=signature, library=library(platforms), **kwargs
  )


def _scaled(x, w, *, eps):
  rstd = 1 / jnp.sqrt(jnp.mean(x * x) + eps)
  y = x * rstd
  return (y if w is None else y * w).astype(x.dtype), rstd


def declare_scaled(**kwargs):
  kwargs.setdefault("reference", _scaled)
  return declare(
      "(n),(n)?->(n),()",
      derivatives=kit.Derivatives(residuals=("rstd",)),
      attributes={"eps": kit.Attribute(np.float64, minimum=0)},
      dtypes=kit.FLOATING,
      operands={"w": kit.Operand(weight_of="x", row_sums=True)},
      **kwargs,
  )


class KitRulesTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    # The ops of a test are gone after it.
    self.enter_context(
        mock.patch.dict(sys.modules["jax_ffi_ops.kit.op"]._declared)
    )

  def test_operands_that_are_left_out(self):
    op = declare_scaled()
    for operands in ((_X,), (_X, None)):
      np.testing.assert_array_equal(op(*operands, eps=0), _X)
    with self.assertRaisesRegex(
        TypeError, r"takes 2 operands \(x, w=None\), got 3"
    ):
      op(_X, None, None, eps=0)
    with self.assertRaisesRegex(TypeError, "x must be an array, got None"):
      op(None, _W, eps=0)
    self.assertIn("present=1", str(jax.make_jaxpr(lambda x: op(x, eps=0))(_X)))

  def test_names(self):
    for kwargs in (
        dict(outputs=("x",)),
        dict(outputs=("y", "y"), signature="(n)->(n),()"),
        dict(
            outputs=("y",),
            derivatives=kit.Derivatives(residuals=("y", "y")),
        ),
        dict(attributes={"x": np.int64}),
        dict(attributes={"present": np.int64}),
    ):
      with self.assertRaisesRegex(ValueError, "test_op: there are several"):
        declare(operands=("x",), **kwargs)
    for name in ("jvp", "backward", "transpose"):
      with self.assertRaisesRegex(
          ValueError, rf"test_op: {name} has parameters named \['z'\]"
      ):
        declare(
            operands=("x",),
            derivatives=kit.Derivatives(**{name: lambda z: z}),
        )
    for operands in (
        {"x": kit.Operand(weight_of="w")},
        {"w": kit.Operand(row_sums=True)},
    ):
      with self.assertRaisesRegex(ValueError, r"no operand is named \['w'\]"):
        declare(reference=lambda x: x, operands=operands)

  @parameterized.parameters(
      ("jvp", lambda x_dot: x_dot[1:]),
      ("backward", lambda dy: (dy, dy)),
      ("transpose", lambda dy: dy[1:]),
  )
  def test_rule_that_does_not_fit(self, name, rule):
    with self.assertRaisesRegex(
        TypeError, rf"test_op: `{name}` returns .*, but declared is"
    ):
      declare(
          platforms=(),
          reference=lambda x: x,
          derivatives=kit.Derivatives(**{name: rule}),
      )

  @parameterized.parameters(
      ("results", kit.Results(dtypes=lambda x: (x.dtype,))),
      ("use_handler", kit.Choice(use_handler=lambda x, *, platform: True)),
      ("use_handler", kit.Choice(use_handler=lambda x, *, a: True)),
      ("is_faster", kit.Choice(is_faster=lambda x, *, a, platform: True)),
      ("reference", lambda x, b: x),
      ("reference", lambda x: x),
      ("jvp", kit.Derivatives(jvp=lambda x_dot: x_dot)),
      ("transpose", kit.Derivatives(transpose=lambda dy: dy)),
      ("backward", kit.Derivatives(backward=lambda dy: dy)),
  )
  def test_function_that_does_not_take_attributes(self, kind, value):
    groups = {kit.Choice: "choice", kit.Derivatives: "derivatives"}
    function = {groups.get(type(value), kind): value}
    with self.assertRaisesRegex(
        TypeError, f"test_op: `{kind}` is called with 1 array and .*'a'"
    ):
      declare(operands=("x",), attributes={"a": np.int64}, **function)

  def test_residual_without_a_tangent(self):
    def declare_with(backward):
      return declare(
          "(n)->(n),(n)",
          reference=lambda x: (x * x, x),
          derivatives=kit.Derivatives(residuals=("r",), backward=backward),
      )

    with self.assertRaisesRegex(ValueError, "`backward` uses r, which callers"):
      declare_with(lambda r, dy: 2 * r * dy)
    declare_with(lambda x, r, dy: 2 * r * dy)

  def test_transpose_with_other_rules(self):
    with self.assertRaisesRegex(
        ValueError, "with `Derivatives.transpose` of all"
    ):
      declare(
          platforms=("cpu",),
          operands=("x",),
          derivatives=kit.Derivatives(transpose=lambda dy: dy),
      )

  @parameterized.parameters(
      ("(n)->(k)", {"k": np.int32}), ("(n)?->(n)", None), ("(n,*)->(n)", None),
      ("(n)->(n,*)", None), ("(*)->(*)", None),
  )  # fmt: skip
  def test_signature(self, signature, attributes):
    with self.assertRaises(ValueError):
      declare(signature, attributes=attributes, operands=("x",))

  def test_axis(self):
    op = declare("(n,*)->(n,*)", reference=jnp.cumsum, operands=("x",))
    for axis in (0, 1, -1, -2):
      np.testing.assert_array_equal(op(_X, axis=axis), np.cumsum(_X, axis=axis))
    for axis in (2, -3):
      with self.assertRaisesRegex(
          ValueError, "axis must be 0 to 1 or -2 to -1, got"
      ):
        op(_X, axis=axis)
    for axis in (1.0, True, None):
      with self.assertRaisesRegex(TypeError, "axis must be an integer, got"):
        op(_X, axis=axis)

  def test_last_axis_stays_where_it_is(self):
    op = declare("(n,*)->(n,*)", reference=jnp.cumsum, operands=("x",))
    program = jax.make_jaxpr(jax.vmap(op, -1, -1))(np.ones((3, 4, 5)))
    self.assertLen(program.eqns, 1)
    self.assertEqual(program.eqns[0].params["call"].trailing_rank, 1)

  @parameterized.parameters(
      ("float16", "float16", "float16"),
      ("float16", "float32", "float32"),
      ("float16", "bfloat16", "float32"),
      ("bfloat16", "float16", "float32"),
      ("float32", "bfloat16", "float32"),
      ("float64", "float16", "float64"),
      ("float32", "float64", "float64"),
  )
  def test_weights(self, x, w, expected):
    op = declare_scaled(platforms=("cpu",))
    with jax.enable_x64(True):
      args = jnp.ones((2, 4), x), jnp.ones(4, w)
      program = jax.make_jaxpr(lambda *args: op(*args, eps=0))(*args)
      gradient = jax.make_jaxpr(
          jax.grad(lambda *args: op(*args, eps=0).sum(), 1)
      )(*args)
      self.assertEqual(program.eqns[-1].invars[1].aval.dtype, expected)
      self.assertEqual(gradient.out_avals[0].dtype, w)
      text = kit.explain(op, *args, eps=0)
    runs = "handler kit_test_op_fwd"
    if (x, w) == ("float32", "float64"):
      runs = "reference (w has dtype float64, and x float32)"
    self.assertIn(f"test_op on cpu: forward: {runs}", text)

  @parameterized.parameters(
      ((), (2, 3), 0, (2, 8)),
      ((), (4096,), 0, (193, 8)),
      ((), (2**20,), 0, (18725, 8)),
      ((4,), (64,), 1, (4, 17, 8)),
      ((2, 3), (2, 3), 0, (2, 3, 1, 8)),
  )
  def test_workspaces(self, shared, loops, batch_rank, expected):
    op = declare_scaled().declaration
    leading = loops if shared == loops else (*shared, *loops)
    f32 = lambda *shape: jax.ShapeDtypeStruct(shape, np.float32)
    arrays = f32(*leading, 8), f32(*shared, 8), f32(*leading), f32(*leading, 8)
    call = BackwardCall(ForwardCall(op, Value({}), 3), batch_rank, ("y",))
    self.assertEmpty(call.workspaces("cpu", arrays))
    (found,) = call.workspaces("cuda", arrays).values()
    self.assertEqual((found.shape, found.dtype), (expected, np.float32))

  def test_choice_of_the_handler(self):
    asked = []

    def use_handler(x, w, *, eps, platform):
      asked.append((x.shape, w and w.shape, x.dtype, eps, platform))
      return x.shape[-1] >= 4

    op = declare_scaled(
        platforms=("cpu",), choice=kit.Choice(use_handler=use_handler)
    )

    def lowered(*args):
      function = jax.grad(lambda *args: op(*args, eps=1).sum(), (0, 1))
      return jax.jit(function).lower(*args).as_text()

    text = lowered(_X, _W)
    for target in ("fwd", "bwd"):
      self.assertIn(f"@kit_test_op_{target}", text)
    # Forward and backward are asked the same.
    self.assertEqual(
        set(asked), {((2, 4), (2, 4), np.dtype(np.float32), 1.0, "cpu")}
    )
    self.assertNotIn("custom_call", lowered(_X[:, :3], _W[:3]))
    text = kit.explain(op, _X[:, :3], eps=1)
    why = "reference (`use_handler` is False for x float32[2, 3])"
    self.assertIn(f"on cpu: forward: {why}", text)
    self.assertIn("elsewhere: forward: reference (there is no handler)", text)
    self.assertNotIn("cuda", text)

  def test_explains_calls_inside_of_others(self):
    x, scale = np.ones((8, 16), np.float32), np.ones(16, np.float32)
    mesh = jax.sharding.Mesh(jax.devices()[:1], ("a",))
    rows = jax.sharding.PartitionSpec("a")
    parts = jax.shard_map(
        rms_norm,
        mesh=mesh,
        in_specs=(rows, jax.sharding.PartitionSpec()),
        out_specs=rows,
    )
    for function in (jax.jit(rms_norm), jax.checkpoint(rms_norm), parts):
      self.assertIn(
          "rms_norm on cpu: forward:", kit.explain(function, x, scale)
      )

  def test_jaxpr_is_for_people(self):
    x, scale = np.ones((8, 6, 16), np.float32), np.ones(16, np.float32)
    self.assertRegex(
        str(jax.make_jaxpr(rms_norm)(x, scale)),
        r"c:f32\[8,6,16\] \S+ = rms_norm\[call=\(eps=1e-06, present=3\)\] a b",
    )

  def test_faster_in_one_direction(self):
    op = declare_scaled(
        platforms=("cpu",),
        choice=kit.Choice(
            is_faster=lambda x, w, *, eps, platform, backward: backward
        ),
    )

    def lowered():
      function = jax.grad(lambda *args: op(*args, eps=1).sum(), (0, 1))
      return jax.jit(function).lower(_X, _W).as_text()

    def explained():
      return kit.explain(op, _X, _W, eps=1)

    why = (
        "on cpu: forward: reference (`is_faster` is False for x float32[2, 4], w"
        " float32[2, 4]); backward: handler"
    )
    self.assertIn(why, explained())
    self.assertNotIn("@kit_test_op_fwd", lowered())
    self.assertIn("@kit_test_op_bwd", lowered())
    with kit.using("handler if served"):
      self.assertIn("on cpu: forward: handler kit_test_op_fwd", explained())
      self.assertIn("@kit_test_op_fwd", lowered())
    self.assertIn(why, explained())

  def test_calls_that_must_run_one_of_both(self):
    """Programs of a block are not used outside of it, nor the other way round."""
    op = declare_scaled(
        platforms=("cpu",),
        choice=kit.Choice(is_faster=lambda x, w, **_: x.shape[-1] > 4),
    )

    @jax.jit
    def inner(x, w):
      return jax.grad(lambda *args: op(*args, eps=1).sum(), (0, 1))(x, w)

    outer = jax.jit(lambda x, w: inner(x, w))

    def runs_handler(x, w=_W):
      text = outer.lower(x, w).as_text()
      self.assertEqual("@kit_test_op_fwd" in text, "@kit_test_op_bwd" in text)
      return "@kit_test_op_fwd" in text

    large = np.ones((2, 5), np.float32)
    for _ in range(2):
      self.assertFalse(runs_handler(_X))
      with kit.using("handler"):
        self.assertTrue(runs_handler(_X))
        explained = kit.explain(op, _X, _W, eps=1)
        self.assertIn("on cpu: forward: handler kit_test_op_fwd", explained)
        self.assertIn(
            "elsewhere: forward: error (there is no handler)", explained
        )
      self.assertTrue(runs_handler(large, large[0]))
      with kit.using("reference"):
        self.assertFalse(runs_handler(large, large[0]))
        self.assertIn(
            "on cpu: forward: reference (`kit.using` asks for it)",
            kit.explain(op, large, large[0], eps=1),
        )
        with kit.using("handler"):  # The innermost one counts.
          self.assertTrue(runs_handler(large, large[0]))
    with kit.using("handler if served"), kit.using("reference"):
      self.assertFalse(runs_handler(large, large[0]))

  @parameterized.parameters(
      (dict(platforms=("cuda",)), "cpu", "there is one for cuda alone"),
      (dict(platforms=("cpu",)), "tpu", "there is one for cpu alone"),
      (
          dict(
              platforms=("cpu",),
              choice=kit.Choice(use_handler=lambda *_, **__: False),
          ),
          "cpu",
          r"`use_handler` is False for x float32\[2, 4\]",
      ),
  )
  def test_handler_that_cannot_run(self, declared, platform, reason):
    op = declare(reference=lambda x: x, **declared)

    def lower():
      jax.jit(lambda x: op(x)).trace(_X).lower(lowering_platforms=(platform,))

    lower()
    with (
        kit.using("handler"),
        self.assertRaisesRegex(
            ValueError, f"test_op: the call must run a handler: {reason}"
        ),
    ):
      lower()

  def test_strict(self):
    """No handler computes what `transpose=` does: such gradients are no error."""
    op = declare(
        "(n),(n)->(n)",
        platforms=("cpu",),
        reference=lambda a, x: a * x,
        derivatives=kit.Derivatives(transpose=lambda a, dy: a * dy),
        choice=kit.Choice(
            use_handler=lambda a, x, **_: x.size <= 4, strict=True
        ),
    )

    def lowered(operand, x):
      gradient = jax.grad(lambda a, x: (op(a, x) ** 2).sum(), operand)
      return jax.jit(gradient).lower(x, x).as_text()

    for operand, handlers in ((0, "fb"), (1, "f")):
      text = lowered(operand, _W)
      found = [x for x in "fb" if f"@kit_test_op_{x}wd" in text]
      self.assertEqual("".join(found), handlers)
      with self.assertRaisesRegex(
          ValueError, "the call must run a handler: `u"
      ):
        lowered(operand, np.ones(5, np.float32))
      with kit.using("reference"):
        for x in (_W, np.ones(5, np.float32)):
          self.assertNotIn("@kit_test_op", lowered(operand, x))
    x = np.ones(5, np.float32)
    self.assertIn(
        "on cpu: forward: error (`use_handler`", kit.explain(op, x, x)
    )
    self.assertIn("elsewhere: forward: reference (", kit.explain(op, x, x))
    with kit.using("reference"):
      self.assertIn("on cpu: forward: reference (", kit.explain(op, x, x))

  @parameterized.parameters("", "handlers", True, None)
  def test_neither_handler_nor_reference(self, what):
    with self.assertRaisesRegex(
        ValueError, r"kit.using takes one of \['handler', .*'\], got"
    ):
      kit.using(what)

  def test_faster_for_some_cores(self):
    """Whatever the loops are: `n` is the size of the core."""
    op = declare_scaled(
        platforms=("cpu",),
        choice=kit.Choice(is_faster=lambda x, w, *, n, **_: n > 4),
    )
    for n, runs in ((4, "reference"), (5, "handler")):
      found = kit.explain(op, np.ones((9, n), np.float32), eps=1)
      self.assertIn(f"on cpu: forward: {runs}", found)

  @parameterized.parameters(
      (lambda x, **_: x.shape[-1] >= 100, ", and True from n = 100 on"),
      (lambda x, **_: x.size >= 100, ", and True from n = 50 or 25 rows on"),
      (lambda x, *, n, **_: n == 3, ""),
      (lambda x, *, n, **_: 5 <= n < 9, ", and True from n = 5 on"),
  )
  def test_explanation_of_sizes(self, is_faster, expected):
    op = declare(
        platforms=("cpu",),
        reference=lambda x: x,
        choice=kit.Choice(is_faster=is_faster),
    )
    on_cpu, *_ = kit.explain(op, _X).splitlines()
    why = f"(`is_faster` is False for x float32[2, 4]{expected})"
    self.assertIn(f"on cpu: forward: reference {why}", on_cpu)

  def test_explanation_of_sizes_with_all_kinds_of_axes(self):
    """Two sizes of cores, an operand without loops, and trailing loops."""
    op = declare(
        "(n,*),(k)->(n,*)",
        platforms=("cpu",),
        operands={"w": kit.Operand(parameter=True)},
        reference=lambda x, w: x,
        choice=kit.Choice(is_faster=lambda x, w, *, k, **_: x.size * k >= 1000),
    )
    on_cpu, *_ = kit.explain(op, np.ones((2, 3, 5)), _W, axis=1).splitlines()
    # 2, n and 5 with a k of 4; a k with 30; rows of 15.
    self.assertIn("True from n = 25 or k = 34 or 17 rows on", on_cpu)

  @parameterized.parameters(
      ((), {}, "rule `transpose` for x, reference for a"),
      (("cpu",), {}, "rule `transpose` for x, handler kit_test_op_bwd for a"),
      (
          (),
          {"jvp": lambda a, x, a_dot: a_dot * x},
          "rule `transpose` for x, rule `jvp` for a",
      ),
      # Rules that do not take all operands give the other derivatives, too.
      ((), {"jvp": lambda x, a_dot: a_dot * x}, "rule `jvp`"),
      ((), {"backward": lambda dy: (dy, dy)}, "rule `backward`"),
      ((), {"transpose": lambda dy: (dy, dy)}, "rule `transpose`"),
      ((), {"transpose": None}, "reference"),
  )
  def test_explanation_of_gradients(self, platforms, rules, expected):
    rules = {"transpose": lambda a, dy: a * dy} | rules
    op = declare(
        "(n),(n)->(n)",
        platforms=platforms,
        reference=lambda a, x: a * x,
        derivatives=kit.Derivatives(**rules),
    )
    on_cpu, *_ = kit.explain(op, _X, _X).splitlines()  # Or elsewhere.
    _, _, gradients = on_cpu.partition("backward: ")
    self.assertEqual(gradients.split(" (")[0], expected)

  @parameterized.parameters(
      (quantile, (_LONG, 0.5), {}, ["quantile: partition"]),
      (quantile, (_LONG, 0.25), {"axis": 0}, ["quantile: partition"]),
      (quantile, (_LONG, jnp.ones(2)), {}, ["quantile: sort"]),
      (top_k, (_LONG, 3), {}, ["top_k"]),
      (top_k, (_LONG, np.int64(3)), {}, ["top_k"]),
      (map_coordinates, (_LONG, [_LONG]), {"order": 3},
       ["map_coordinates: spline_filter1d"]),
      (lambda x, none: sort(sort(x) + rms_norm(x)), (_LONG, None), {},
       ["<lambda>: sort", "<lambda>: rms_norm"]),
      (lambda x: jax.lax.cond(True, sort, lambda x: x, x), (_LONG,), {},
       ["<lambda>: sort"]),
  )  # fmt: skip
  def test_explanation_of_functions(self, function, args, keywords, expected):
    lines = kit.explain(function, *args, **keywords).splitlines()
    found = [x.partition(" on cpu: ")[0] for x in lines if " on cpu: " in x]
    self.assertSameElements(found, expected)
    self.assertLen(set(lines), len(lines))

  def test_explanation_without_ops(self):
    text = kit.explain(sort, jnp.ones(8, complex))
    self.assertStartsWith(text, "sort: no op is called")
    function = kit.public(serves="even sizes")(lambda x: x)
    text = kit.explain(jax.jit(function), _X)
    self.assertEndsWith(text, "this call: there are handlers for even sizes")

  def test_export_checks(self):
    targets = [str(x) for x in kit.export_checks(rms_norm)]
    self.assertIn("xla_ffi_ops_rms_norm_fwd", targets[0])
    op = declare_scaled(platforms=("cpu",))
    public = kit.public(op)(lambda x: op(x, eps=0))
    for function in (op, public, jax.jit(public)):
      self.assertLen(kit.export_checks(function), 2)
    self.assertLen(kit.export_checks(op, public), 4)
    with self.assertRaisesRegex(TypeError, "is no op, and no function"):
      kit.export_checks(jnp.sin)

  def test_no_backend_is_started(self):
    program = (
        "import jax_ffi_ops; jax_ffi_ops.rms_norm; from jax._src import"
        " xla_bridge; assert not xla_bridge._backends"
    )
    python_process.run("-c", program).check_returncode()


if __name__ == "__main__":
  absltest.main()
