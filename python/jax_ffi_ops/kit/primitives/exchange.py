# SPDX-License-Identifier: Apache-2.0
"""Calls whose core is split over devices: each has a piece.

Devices compute states of their pieces, exchange them, and combine those that
their results depend on.
"""

from collections.abc import Callable, Mapping, Sequence
import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.kit.calls import mapping
from jax_ffi_ops.kit.calls.dimensions import Dimensions
from jax_ffi_ops.kit.calls.dimensions import Parts
from jax_ffi_ops.kit.calls.forward import ForwardCall
from jax_ffi_ops.kit.declare.split import CARRIES
from jax_ffi_ops.kit.declare.split import Split

_Arrays = Mapping[str, Any]
_State = tuple[jax.Array, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class Exchange:
  """A call of pieces.

  Attributes:
    call: of the op.
    split: its rule, forward or backward.
    pieces: what the device has of operands and other arrays, by name.
    over: the names of mesh axes, the first of which comes first in the core.
    skips: whether devices skip states that no result depends on. The derivative
      of what they skip would copy pieces.
  """

  call: ForwardCall
  split: Split
  pieces: _Arrays
  over: tuple[str, ...]
  skips: bool = True

  def results(self) -> tuple[jax.Array, ...]:
    """Returns what `apply` returns, for all indices of the loops."""
    each = self._gathered(self._own())
    return self._apply(self._map(self._combined, self._of_state, each))

  def _gathered(self, state: _State) -> list[jax.Array]:
    """Returns the states of all devices, along a first core axis.

    It exchanges all arrays of one dtype at once: devices wait for each other.
    """
    each = list(state)
    for dtype in dict.fromkeys(x.dtype for x in state):
      same = [i for i, x in enumerate(state) if x.dtype == dtype]
      flat = jnp.concatenate([jnp.ravel(state[i]) for i in same])
      flat = jax.lax.all_gather(flat, self.over)
      ends = np.cumsum([state[i].size for i in same])[:-1]
      for i, x in zip(same, jnp.split(flat, ends, axis=1)):
        x = jnp.reshape(x, (len(x), *state[i].shape))
        each[i] = jnp.moveaxis(x, 0, len(self._state_dims.leading))
    return each

  def _own(self) -> _State:
    """Returns the state of the device's piece, or one of no elements.

    No result depends on the state of the last piece if `apply` uses only
    `before`. Where devices share a memory, to read that piece once more slows
    down all.
    """
    state = functools.partial(self._map, self._local, self._of_state)
    if not self.skips:
      return state()
    last = jax.lax.axis_size(self.over) - 1
    unused = {("before",): last, ("after",): 0}.get(self._used(state))
    if unused is None:
      return state()
    # vmap of a cond transposes pieces, so the maps are in its branches.
    nothing = functools.partial(self._map, self._nothing, self._of_state)
    return jax.lax.cond(jax.lax.axis_index(self.over) == unused, nothing, state)

  def _used(self, state) -> tuple[str, ...]:
    """Returns the names of the carries that `apply` uses; it may take more."""
    carries = dict.fromkeys(self._taken, jax.eval_shape(state))
    jaxpr = jax.make_jaxpr(self._apply)(carries).jaxpr
    uses = {id(x) for eqn in jaxpr.eqns for x in eqn.invars}
    uses.update(map(id, jaxpr.outvars))
    # Those of a dictionary are in the order of its keys.
    inputs = jax.tree.unflatten(jax.tree.structure(carries), jaxpr.invars)
    return tuple(
        name for name, xs in inputs.items() if any(id(x) in uses for x in xs)
    )

  def _apply(self, carries: Mapping[str, _State]) -> tuple[jax.Array, ...]:
    apply = lambda x, carries: self.split.apply(
        {**x, **carries}, self._attributes
    )
    return self._map(apply, self.split.apply.names, carries)

  def _local(self, pieces: _Arrays) -> _State:
    return tuple(map(jnp.asarray, self.split.local(pieces, self._attributes)))

  def _nothing(self, pieces: _Arrays) -> _State:
    """Returns the state of no elements."""
    types = jax.eval_shape(self._local, pieces)
    values = self.split.identity(pieces, self._attributes)
    return tuple(jnp.full(t.shape, v, t.dtype) for t, v in zip(types, values))

  def _combined(self, pieces: _Arrays, each: _State) -> Mapping[str, _State]:
    """Returns the carries that `apply` takes, given the states of all pieces."""
    own = jax.lax.axis_index(self.over)
    nothing = [x[None] for x in self._nothing(pieces)]
    combine = jax.vmap(
        lambda a, b: tuple(self.split.combine(a, b, **self._attributes))
    )
    scan = jax.lax.associative_scan
    join = lambda parts: [jnp.concatenate(x) for x in zip(*parts)]
    carries = {}
    if "before" in self._taken:
      moved = join([nothing, [x[:-1] for x in each]])
      found = scan(combine, moved)
      carries["before"] = tuple(x[own] for x in found)
    if "after" in self._taken:
      moved = join([[x[1:] for x in each], nothing])
      found = scan(lambda a, b: combine(b, a), moved, reverse=True)
      carries["after"] = tuple(x[own] for x in found)
    if "whole" in self._taken:
      found = scan(combine, list(each))
      carries["whole"] = tuple(x[-1] for x in found)
    return carries

  def _map(
      self, function: Callable[..., Any], names: Sequence[str], *states: Any
  ) -> Any:
    """Calls a function of pieces and states, for all indices of the loops.

    Args:
      function: of a dictionary of cores, and of states.
      names: of the pieces.
      *states: trees of arrays with the loops of states.
    """
    pieces = {n: x for n, x in self.pieces.items() if n in names}
    flat, tree = jax.tree.flatten(states)

    def on_cores(*cores):
      own = dict(zip(pieces, cores))
      return function(own, *jax.tree.unflatten(tree, cores[len(own) :]))

    parts = dict(zip(self.pieces, self._dims.arrays))
    shapes = [*map(parts.get, pieces), *map(self._state_parts, flat)]
    return mapping.loop(on_cores, shapes)(*pieces.values(), *flat)

  def _state_parts(self, x: jax.Array) -> Parts:
    dims = self._state_dims
    end = x.ndim - len(dims.trailing)
    core = x.shape[len(dims.leading) : end]
    return Parts(dims.leading, core, dims.trailing)

  @functools.cached_property
  def _dims(self) -> Dimensions:
    return self.call.dimensions_of(self.pieces)

  @functools.cached_property
  def _state_dims(self) -> Dimensions:
    """The loops of states."""
    indices = [i for i, n in enumerate(self.pieces) if n in self._of_state]
    return self._dims.only(indices)

  @property
  def _of_state(self) -> tuple[str, ...]:
    """The names of the pieces that a state depends on."""
    return (*self.split.local.names, *self.split.identity.names)

  @property
  def _taken(self) -> list[str]:
    return [name for name in CARRIES if name in self.split.apply.names]

  @property
  def _attributes(self) -> Mapping[str, Any]:
    return self.call.attributes.plain
