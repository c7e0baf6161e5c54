# SPDX-License-Identifier: Apache-2.0
"""jax_ffi_ops.compile compiles each outermost loop of jax.lax.

Import this before what imports loops from jax.lax. Tests of other packages then
check what is compiled.
"""

import functools

from jax import lax

from jax_ffi_ops.compiled import compile  # pylint: disable=redefined-builtin
from jax_ffi_ops.compiled import Compiled
from jax_ffi_ops.loops.body import Body

made: list[Compiled] = []
_within = []  # What compiles all loops in it.


def _whole(function):
  """Returns a function whose loops stay what they are."""

  @functools.wraps(function)
  def call(*args):
    _within.append(function)
    try:
      return function(*args)
    finally:
      _within.pop()

  return call


def _called(loop, *args):
  """Calls a loop: compiled, but within another it is a part of that."""
  if _within:
    return loop(*args)

  @_whole
  def own(*args):
    return loop(*args)

  # However few rows there are: the rule may leave them to jax.
  function = compile(own, least_rows=(1, 1))
  made.append(function)
  return function(*args)


@functools.wraps(lax.scan)
def _scan(f, init, xs=None, *args, loop=lax.scan, **kwargs):
  own = lambda init, xs: loop(f, init, xs, *args, **kwargs)
  return _called(own, init, xs)


@functools.wraps(lax.while_loop)
def _while_loop(cond_fun, body_fun, init_val, loop=lax.while_loop):
  own = lambda init_val: loop(cond_fun, body_fun, init_val)
  return _called(own, init_val)


@functools.wraps(lax.fori_loop)
def _fori_loop(lower, upper, body_fun, init_val, loop=lax.fori_loop, **options):
  own = lambda init_val: loop(lower, upper, body_fun, init_val, **options)
  return _called(own, init_val)


@functools.wraps(lax.map)
def _map(f, xs, *args, loop=lax.map, **kwargs):
  return _called(lambda xs: loop(f, xs, *args, **kwargs), xs)


# The compiler itself writes some primitives as loops.
Body.traced = _whole(Body.traced)
lax.scan, lax.while_loop = _scan, _while_loop
lax.fori_loop, lax.map = _fori_loop, _map
