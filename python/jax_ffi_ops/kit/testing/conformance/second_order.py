# SPDX-License-Identifier: Apache-2.0
"""Second derivatives: either mode over either mode."""

import jax
import jax.numpy as jnp
from jax.test_util import check_grads

from jax_ffi_ops.kit.testing.cases import programs
from jax_ffi_ops.kit.testing.cases import transforms
from jax_ffi_ops.kit.testing.conformance.base import Base
from jax_ffi_ops.kit.testing.conformance.base import Label
from jax_ffi_ops.kit.testing.conformance.base import THOROUGH


def _hessian(outer, inner):
  return lambda function: outer(inner(transforms.weighted(function)))


_ORDERS = {
    "forward over reverse": _hessian(jax.jacfwd, jax.jacrev),
    "reverse over reverse": _hessian(jax.jacrev, jax.jacrev),
    "forward over forward": _hessian(jax.jacfwd, jax.jacfwd),
    "reverse over forward": _hessian(jax.jacrev, jax.jacfwd),
}
_FEW_ORDERS = ("reverse over reverse",)  # which needs all that an op has


class SecondOrderTest(Base):
  """Second derivatives are the definition's."""

  def test_hessians(self):
    if not self.has_derivatives:
      return
    operands = self.case.arrays((2,))
    moving = [operands[i] for i in self.case.differentiable]
    args = (moving, operands, self.case.cotangents(operands))
    expected = self.case.oracle(_ORDERS["forward over reverse"], *args)
    labels = self.gradient_labels(operands)
    names = [f"{a.name} by {b.name}" for a in labels for b in labels]
    for row in _ORDERS if THOROUGH else _FEW_ORDERS:
      transform = _ORDERS[row]
      actual = jax.tree.leaves(programs.jit(transform(self.case))(*args))
      labels = [Label(name, x.dtype) for name, x in zip(names, actual)]
      self.compare(row, actual, expected, labels)

  if THOROUGH:

    def test_check_grads(self):
      """JAX's own check, by numerical differences."""
      operands = self.case.arrays((2,))
      moving = [operands[i] for i in self.case.differentiable]
      types = [jnp.finfo(x.dtype) for x in moving]
      if not self.has_derivatives or min(t.bits for t in types) < 32:
        return  # Differences say nothing about 16 bits.
      eps = max(float(t.eps) for t in types)
      # What a central difference is off by with the step that is best for it,
      # times what sums over a few hundred elements and large third derivatives
      # make of it.
      tolerance = 100 * eps ** (2 / 3) * self.case.tolerance
      function = jax.jit(
          lambda *xs: transforms.of_moving(self.case)(xs, operands)
      )
      try:
        check_grads(
            function,
            moving,
            order=2,
            modes=("fwd", "rev"),
            atol=tolerance,
            rtol=tolerance,
            eps=eps ** (1 / 3),
        )
      except AssertionError as error:
        self.fail_row(
            "check_grads",
            "derivatives and differences do not agree, if it is not that the op"
            f" bends sharply at its operands' `values`: {error}",
        )
