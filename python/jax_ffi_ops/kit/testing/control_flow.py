# SPDX-License-Identifier: Apache-2.0
"""Control flow and what else calls an op as part of something larger."""

import jax
from jax.ad_checkpoint import checkpoint_name
import jax.numpy as jnp

from jax_ffi_ops.kit.testing import transforms
from jax_ffi_ops.kit.testing.base import Base
from jax_ffi_ops.kit.testing.case import LOOPS


class ControlFlowTest(Base):
  """Each of these is the op again, with the same values and gradients."""

  def _per_step(self, *operands):
    """Returns (operands with steps, function of them and the others)."""
    shared = self.case.parameters
    steps = tuple(x for i, x in enumerate(operands) if i not in shared)

    def step(xs):
      xs = iter(xs)
      return self.case(
          *(x if i in shared else next(xs) for i, x in enumerate(operands))
      )

    return steps, step

  def test_scan(self):
    def scanned(*operands):
      steps, step = self._per_step(*operands)
      return jax.lax.scan(lambda c, xs: (c + 1, step(xs)), 0, steps)[1]

    self.check_same("scan", scanned)

  def test_map(self):
    def mapped(*operands):
      steps, step = self._per_step(*operands)
      return jax.lax.map(step, steps)

    self.check_same("lax.map", mapped)

  def test_map_in_batches(self):
    def mapped(*operands):
      steps, step = self._per_step(*operands)
      return jax.lax.map(step, steps, batch_size=3)

    self.check_same("lax.map with batch_size", mapped)

  def test_fori_loop(self):
    self.check_same("fori_loop", self._looped(jax.lax.fori_loop))

  def test_while_loop(self):
    def loop(lower, upper, body, carry):
      return jax.lax.while_loop(
          lambda c: c[0] < upper,
          lambda c: (c[0] + 1, body(c[0], c[1])),
          (lower, carry),
      )[1]

    looped = self._looped(loop)
    operands = self.case.arrays()
    self.check_values("while_loop", jax.jit(looped), operands)
    if self.has_derivatives:  # JAX has no reverse mode of it.
      self.check_push_forward("while_loop", looped, operands)

  def _looped(self, loop):
    def looped(*operands):
      steps, step = self._per_step(*operands)

      def body(i, results):
        computed = step(tuple(x[i] for x in steps))
        return tuple(r.at[i].set(x) for r, x in zip(results, computed))

      avals = jax.eval_shape(self.case, *operands)
      zeros = tuple(jnp.zeros(x.shape, x.dtype) for x in avals)
      return loop(0, LOOPS[0], body, zeros)

    return looped

  def check_push_forward(self, row, function, operands):
    tangents = self.case.tangents(operands)
    actual = jax.jit(transforms.push_forward(function))(operands, tangents)
    avals = self.case.avals(operands)
    moving = [x for x in avals if self.case.op.is_differentiable(x.dtype)]
    names = self.result_names(avals)
    self.compare(
        row,
        transforms.push_forward,
        actual,
        [x.dtype for x in (*avals, *moving)],
        [
            *names,
            *(
                f"the tangent of {name}"
                for name, x in zip(names, avals)
                if self.case.op.is_differentiable(x.dtype)
            ),
        ],
        operands,
        tangents,
    )

  def test_cond(self):
    def zeros(*operands):
      avals = jax.eval_shape(self.case, *operands)
      return tuple(jnp.zeros(x.shape, x.dtype) for x in avals)

    def chosen(*operands):
      # Not known when the program is compiled.
      is_true = jnp.real(jnp.ravel(operands[0])[0]) > -1e30
      return jax.lax.cond(is_true, self.case, zeros, *operands)

    self.check_same("cond", chosen)

  def test_switch(self):
    def chosen(*operands):
      index = (jnp.real(jnp.ravel(operands[0])[0]) > -1e30).astype(jnp.int32)
      return jax.lax.switch(index, [self.case, self.case], *operands)

    self.check_same("switch", chosen)

  def test_checkpoint(self):
    policies = jax.checkpoint_policies
    self.check_same("checkpoint", jax.checkpoint(self.case))
    self.check_same(
        "checkpoint that saves everything",
        jax.checkpoint(self.case, policy=policies.everything_saveable),
    )
    self.check_same(
        "checkpoint that saves what is named",
        jax.checkpoint(
            lambda *x: checkpoint_name(self.case(*x), "y"),
            policy=policies.save_only_these_names("y"),
        ),
    )

  def test_custom_vjp(self):
    @jax.custom_vjp
    def function(*operands):
      return self.case(*operands)

    function.defvjp(
        lambda *operands: jax.vjp(self.case, *operands), lambda vjp, ct: vjp(ct)
    )
    self.check_same("custom_vjp", function)

  def test_pmap(self):
    axes = tuple(
        None if i in self.case.parameters else 0
        for i in range(len(self.case.operands))
    )
    devices = jax.devices("cpu")[: LOOPS[0]]
    self.check_values(
        "pmap", jax.pmap(self.case, in_axes=axes, devices=devices),
        self.case.arrays(),
    )
