# SPDX-License-Identifier: Apache-2.0
"""Declares an op once; every JAX transformation follows."""

from collections.abc import Callable, Mapping, Sequence
import sys
import threading
import types
from typing import Any

import jax

from jax_ffi_ops.kit.declare import declaring
from jax_ffi_ops.kit.declare.groups import Buffers
from jax_ffi_ops.kit.declare.groups import Choice
from jax_ffi_ops.kit.declare.groups import Derivatives
from jax_ffi_ops.kit.declare.groups import Results
from jax_ffi_ops.kit.declare.split import Split
from jax_ffi_ops.kit.function import Op
from jax_ffi_ops.kit.load.library import Library

# By target, without "_fwd": the op, and the code that declared it.
_declared: dict[str, tuple[Op, types.CodeType]] = {}
_declaring = threading.Lock()


def op(
    name: str,
    *,
    library: Library,
    signature: str,
    reference: Callable[..., Any] | None = None,
    dtypes: declaring.DTypes | None = None,
    attributes: Mapping[str, Any] | None = None,
    operands: declaring.Operands | None = None,
    outputs: Sequence[str] | None = None,
    results: Results = Results(),
    derivatives: Derivatives = Derivatives(),
    choice: Choice = Choice(),
    buffers: Buffers = Buffers(),
    split: Split | None = None,
) -> Op:
  """Declares an op that is a generalized ufunc: cores, mapped over loops.

  Begin with `signature`, `reference` and `dtypes`: you write a definition for
  one core in jax.numpy, and JAX differentiates it. Measure, and say in `choice`
  when the handler pays. Add rules for `derivatives` if JAX's are slow. The
  other arguments are for ops that need them.

  A signature has core dimensions, in NumPy's notation:

    "(m,n),(n)->(m)"   # all operands have the same loops before these, or none
    "(d),(d)?->(d)"    # calls may leave the second out, or pass None
    "(n,*)->(n,*)"     # loops may trail, too; calls take the `axis` of n
    "(3),(2h)->(h+1)"  # of size 3; of twice the size of h; longer than h by 1
    "(n)->(k)"         # the attribute k, an np.int64, must be >= 0; or give a
                       # function in `results.sizes`

  Functions that you pass take arrays positionally, and attributes as keywords.
  An absent operand is None.

  Args:
    name: the name of the op, for messages and programs. Its handlers are the
      FFI targets `<name>_fwd` and, if the library has it, `<name>_bwd`, with
      the library's prefix in front.
    library: the shared object with the handlers.
    signature: the cores of operands and results, such as "(d),(d)?->(d),()".
    reference: the definition in plain jax.numpy, for one core. It returns all
      results. It runs on other platforms, and where no handler serves a call.
    dtypes: a list; all operands of a call, except weights, have the same dtype
      of it. Or a mapping from each operand to its list, where the name of
      another operand stands for that operand's dtype.
    attributes: name to type: a NumPy scalar type, or an Attribute.
    operands: their names; by default the parameters of the reference. Or a
      mapping from names to kit.Operand. With a reference, it needs only the
      special ones.
    outputs: the names of the visible results; by default y, or y0, y1 and so
      on. If an operand has such a name, they are named result.
    results: dtypes and sizes of results that follow from nothing else.
    derivatives: rules for derivatives, and the results that they keep.
    choice: when a call runs the handler, and when the reference.
    buffers: how arrays lie in memory: in place, column-major, or broadcast.
    split: how devices compute a core in pieces. By default, XLA gathers it.

  Returns:
    A function of the operands (arrays) and attributes (keywords) that returns
    an array, or a tuple of them if the op has several visible results.

  Raises:
    ValueError: the signature is malformed, names do not fit it or each other,
      there is an op of that name already, or derivatives would be wrong.
    TypeError: an argument is of no kind that it may be, or a function does not
      return what the signature says.
    ImportError: the library lacks the forward handler, this jaxlib does not
      accept it, or another library has registered it. If there is no file,
      calls raise it.
  """
  declaring.check_kinds(name, {"library": (library, Library)})
  declaration = declaring.declared(**locals())  # It has these parameters.
  # The module that declares the op may be reloaded, and then declares it again.
  # A pickle finds the op by its name in this module.
  return _named(declaration, _module(sys._getframe(1)))  # pylint: disable=protected-access


def _named(declaration, module):
  """Returns the op, which has its name from now on."""
  made = Op(declaration, module.f_globals.get("__name__", "__main__"))
  key = declaration.library.prefix + declaration.name
  with _declaring:
    if key in _declared and not _runs_again(_declared[key][1], module.f_code):
      raise ValueError(f"There is an op {key!r} already.")
    _declared[key] = made, module.f_code
  # For the exported programs, say of another process, that let XLA split calls.
  for target in made.targets:
    jax.ffi.register_ffi_target_as_batch_partitionable(target)
  return made


def _module(frame):
  """Returns the frame of the module that is being run, or else the caller's."""
  own = frame
  while frame is not None and frame.f_code.co_name != "<module>":
    frame = frame.f_back
  return frame or own


def _runs_again(code, new):
  """Returns whether a module is reloaded, or is imported by a second name."""
  return new is not code and new.co_filename == code.co_filename


def find(name: str) -> Op | None:
  """Returns the op of this name (with the prefix)."""
  return _declared[name][0] if name in _declared else None
