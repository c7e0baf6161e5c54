# SPDX-License-Identifier: Apache-2.0
"""Control flow, and what else calls an op as part of something larger."""

import jax
from jax.ad_checkpoint import checkpoint_name
import jax.numpy as jnp

from jax_ffi_ops.kit.testing.cases import devices
from jax_ffi_ops.kit.testing.cases import programs
from jax_ffi_ops.kit.testing.cases import transforms
from jax_ffi_ops.kit.testing.cases.case import LOOPS
from jax_ffi_ops.kit.testing.conformance.base import Base
from jax_ffi_ops.kit.testing.conformance.base import THOROUGH


class ControlFlowTest(Base):
  """Each function here is the op, with its values and gradients."""

  def test_scan(self):
    def scanned(*operands):
      steps, step = self._per_step(*operands)
      return jax.lax.scan(lambda c, xs: (c + 1, step(xs)), 0, steps)[1]

    self.check_same("scan", scanned)

  if THOROUGH:  # Much as the one before.

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

  def _per_step(self, *operands):
    """Returns what to loop over, and the op as a function of a part of it."""
    shared = self.case.parameters
    steps = tuple(x for i, x in enumerate(operands) if i not in shared)

    def step(xs):
      xs = iter(xs)
      return self.case(
          *(x if i in shared else next(xs) for i, x in enumerate(operands))
      )

    return steps, step

  def test_fori_loop(self):
    self.check_same("fori_loop", self._looped(jax.lax.fori_loop))

  def test_while_loop(self):
    def loop(lower, upper, body, carry):
      return jax.lax.while_loop(
          lambda c: c[0] < upper,
          lambda c: (c[0] + 1, body(*c)),
          (lower, carry),
      )[1]

    looped = self._looped(loop)
    operands = self.case.arrays()
    self.check_values("while_loop", programs.jit(looped), operands)
    if self.has_derivatives:  # JAX has only forward mode for it.
      self.check_jvp("while_loop", looped, operands)

  def _looped(self, loop):
    def looped(*operands):
      steps, step = self._per_step(*operands)

      def body(i, results):
        computed = step(tuple(x[i] for x in steps))
        return tuple(r.at[i].set(x) for r, x in zip(results, computed))

      return loop(0, LOOPS[0], body, self._zeros(*operands))

    return looped

  def _zeros(self, *operands):
    avals = jax.eval_shape(self.case, *operands)
    return tuple(jnp.zeros(x.shape, x.dtype) for x in avals)

  def test_cond(self):
    def chosen(*operands):
      return jax.lax.cond(_one(operands) > 0, self.case, self._zeros, *operands)

    self.check_same("cond", chosen)

  if THOROUGH:  # Much as the one before.

    def test_switch(self):
      def chosen(*operands):
        branches = [self._zeros, self.case, self._zeros]
        return jax.lax.switch(_one(operands), branches, *operands)

      self.check_same("switch", chosen)

  def test_checkpoint(self):
    policies = jax.checkpoint_policies
    named = lambda *operands: checkpoint_name(self.case(*operands), "y")
    self.check_same("checkpoint", jax.checkpoint(self.case))
    self.check_same(
        "checkpoint with the policy everything_saveable",
        jax.checkpoint(self.case, policy=policies.everything_saveable),
    )
    self.check_same(
        "checkpoint with the policy save_only_these_names",
        jax.checkpoint(named, policy=policies.save_only_these_names("y")),
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
    function = jax.pmap(self.case, in_axes=axes, devices=devices.some(LOOPS[0]))
    operands = self.case.arrays()
    self.check_values("pmap", function, operands)
    if self.has_derivatives:
      cotangents = self.case.cotangents(operands)
      actual = transforms.vjp(function)(operands, cotangents)
      self.compare_vjp("pmap", actual, operands, cotangents)


def _one(operands):
  """Returns 1, which is not known before the program runs."""
  is_small = jnp.abs(jnp.ravel(operands[0])[0]) < 1e30
  return is_small.astype(jnp.int32)
