# SPDX-License-Identifier: Apache-2.0
"""Wrong calls of the function that users call: what it says of them."""

import dataclasses
import decimal
import re

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.kit.declare import sizes as core_sizes
from jax_ffi_ops.kit.testing.conformance.base import Base

_DTYPES = ("bool", "int8", "uint16", "int32", "int64", "complex64",
           "complex128", "float8_e4m3fn", "int4")  # fmt: skip
_FOREIGN_DTYPES = (">f4", "longdouble", "object", "U1", "M8[s]")
_NO_ARRAYS = ([1.0, 2.0, 3.0], (1.0, 2.0, 3.0), "text", {})
_NO_NUMBERS = (None, "1e-6", 1e-6j, np.complex64(1), [1e-6], np.array(1e-6),
               decimal.Decimal("1e-6"))  # fmt: skip


class PublicCallTest(Base):
  """A wrong call is an error that names the argument and shows its value."""

  def setUp(self):
    super().setUp()
    self.enter_context(jax.enable_x64(True))

  def _check_call(self, error, names, shown, operands, attributes=None):
    """Expects an error that has one of the names, and shows the value."""
    slots = list(operands)
    for i, x in enumerate(self.case.slots):
      if x is None:
        slots.insert(i, None)
    attributes = dict(self.case.attributes) | (attributes or {})
    if self.case.namesake is not None:
      return self._check_like_namesake(slots, attributes)
    what = f"{type(self).__name__}: {' or '.join(names)} = {shown!s}"
    with self.assertRaisesRegex(
        error, rf"\b({'|'.join(names)})\b", msg=what
    ) as raised:
      self.case.function(*slots, **attributes)
    self.assertIn(str(shown), str(raised.exception))

  def _check_like_namesake(self, slots, attributes):
    """Expects the error of the namesake, or its result if it has one."""
    try:
      want = self.case.namesake(*slots, **attributes)
    except Exception as error:  # pylint: disable=broad-exception-caught
      with self.assertRaises(type(error)) as raised:
        self.case.function(*slots, **attributes)
      # Each is another function, and has an address of its own.
      said = re.sub(" at 0x[0-9a-f]+", "", str(raised.exception))
      self.assertEqual(said, re.sub(" at 0x[0-9a-f]+", "", str(error)))
      return
    got = self.case.function(*slots, **attributes)
    if isinstance(got, jax.core.Tracer):
      self.assertEqual(got.aval, want.aval)
    else:
      self.assertEqual(got.dtype, want.dtype)
      # Of 8 bits, NaN is not equal to NaN in NumPy.
      self.assertEqual(np.asarray(got).tobytes(), np.asarray(want).tobytes())

  def _with(self, index, value):
    operands = self.case.arrays((2,))
    operands[index] = value
    return operands

  def test_refuses_dtypes(self):
    op = self.case.op
    for i, (name, x, allowed) in enumerate(
        zip(op.operands, self.case.operands, op.dtypes)
    ):
      if allowed is None:
        continue
      for dtype in _DTYPES:
        if jnp.dtype(dtype) not in allowed:
          array = np.ones(x.core, jnp.dtype(dtype))
          self._check_call(TypeError, [name], dtype, self._with(i, array))
      for dtype in _FOREIGN_DTYPES:
        array = np.zeros(x.core, dtype)
        self._check_call(TypeError, [name], array.dtype, self._with(i, array))
      self._check_call(
          TypeError, [name], "key<", self._with(i, jax.random.key(0))
      )

  def test_refuses_what_is_no_array(self):
    for i, name in enumerate(self.case.op.operands):
      for value in _NO_ARRAYS:
        self._check_call(TypeError, [name], repr(value), self._with(i, value))
      if i not in self.case.call.declared.signature.optional:
        self._check_call(TypeError, [name], None, self._with(i, None))

  def test_refuses_shapes(self):
    op = self.case.op
    for i, (name, x) in enumerate(zip(op.operands, self.case.operands)):
      core = op.signature.operands[i]
      if not core:
        continue
      for shape in {x.core[1:], ()} - {x.core}:
        self._check_call(
            ValueError, [name], "", self._with(i, np.ones(shape, x.dtype))
        )
      for axis, dim in enumerate(core):
        names = set(core_sizes.names([(dim,)]))
        alike = [
            n
            for n, c in zip(op.operands, op.signature.operands)
            if names.intersection(core_sizes.names([c]))
        ]
        if names and len(alike) == 1:
          continue  # Any size is right.
        for size in {0, 1, x.core[axis] + 1} - {x.core[axis]}:
          shape = (*x.core[:axis], size, *x.core[axis + 1 :])
          wrong = self._with(i, np.ones(shape, x.dtype))
          self._check_call(ValueError, alike or [name], size, wrong)
      if name in op.parameters:
        for loops in ((1,), (2,)):
          wrong = np.ones((*loops, *x.core), x.dtype)
          self._check_call(
              ValueError, [name], wrong.shape, self._with(i, wrong)
          )

  def test_refuses_traced_operands(self):
    """Under jit and vmap, too."""
    name, x = self.case.op.operands[0], self.case.operands[0]
    allowed = self.case.op.dtypes[0]
    if allowed is None:
      return
    dtype = next(
        d for d in ("bool", "int8", "complex64") if jnp.dtype(d) not in allowed
    )

    def traced(x):
      self._check_call(TypeError, [name], dtype, self._with(0, x))
      return x

    array = np.ones((2, *x.core), dtype)
    jax.jit(traced)(array)
    jax.vmap(traced)(array)

  def test_refuses_attributes(self):
    operands = self.case.arrays((2,))
    for name, attribute in self.case.op.attributes.items():
      if (
          isinstance(attribute.type, list)
          or np.dtype(attribute.type).kind in "bUO"
      ):
        continue
      for value in (*_NO_NUMBERS, True, np.bool_(True)):
        self._check_call(
            TypeError, [name], repr(value), operands, {name: value}
        )
      if attribute.below is not None:
        value = np.dtype(attribute.type).type(attribute.below)
        self._check_call(ValueError, [name], value, operands, {name: value})
      if attribute.minimum is not None:
        values = [attribute.minimum - 1, np.int8(attribute.minimum - 3)]
        if np.dtype(attribute.type).kind == "f":
          values += [float("-inf"), float("nan"), np.float32("nan")]
        for value in values:
          self._check_call(ValueError, [name], value, operands, {name: value})

      def traced(value):
        self._check_call(TypeError, [name], "Trace", operands, {name: value})  # pylint: disable=cell-var-from-loop
        return value

      jax.jit(traced)(1.0)
      jax.vmap(traced)(np.ones(2))

  def test_case_sets_an_attribute(self):
    """Else nobody would see a handler that takes the default for granted."""
    if not self.case.op.attributes:
      return
    values = self.case.call.attributes.value
    try:
      without = dataclasses.replace(self.case, attributes={})
      defaults = without.call.attributes.value
    except TypeError:
      return  # There are none.
    same = [name for name, value in defaults.items() if value == values[name]]
    if len(same) == len(values):
      name, value = next(iter(values.items()))
      self.fail(
          f"{type(self).__name__}: no case sets {' or '.join(same)}: give the"
          f" Case another value than the default, such as attributes="
          f"{{{name!r}: {_another(value.value)!r}}}."
      )


def _another(value):
  if isinstance(value, str):
    return value + "..."
  return not value if isinstance(value, np.bool_) else (value + 0.25).item()
