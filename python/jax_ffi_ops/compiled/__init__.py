# SPDX-License-Identifier: Apache-2.0
"""`jax_ffi_ops.compile`: loops of JAX, compiled by the process that runs them.

In the order of a call:

  function   what `compile` returns: a jitted function that runs ops
  program    traces the caller's function, whose arrays become operands
  sizes      which sizes of arrays are compiled in, and which are open
  ops        declares a program as an op of the kit
  parts      where a program cannot be compiled: its loops alone
  speed      the rule that says where jax is faster
  handlers   writes and compiles an op's handlers when a program is lowered
  runtime    loads what is compiled, and links it to the prebuilt runtime

`measuring` and `answers` are for `benchmark`: what is faster, and what of it is
kept.
"""

from jax_ffi_ops.compiled.function import compile as compile  # pylint: disable=redefined-builtin
from jax_ffi_ops.compiled.function import Compiled as Compiled
from jax_ffi_ops.compiled.runtime import load as load
from jax_ffi_ops.kit.load.cores import NotCompiledWarning as NotCompiledWarning
