# SPDX-License-Identifier: Apache-2.0
"""The parts of the Python files that follow from a signature."""

from collections.abc import Sequence

from spec import Op

_SIZES = (8, 4, 6, 5, 3, 7)


def _tuple(values: Sequence[str]) -> str:
  return ", ".join(values)


def _is_elementwise(op: Op, result: str) -> bool:
  own = op.results[result]
  alone = len(set(own)) == len(own)
  return alone and all(core == own for core in op.cores.values())


def einsum(op: Op, result: str, loops: str = "") -> str:
  """Returns a result in jax.numpy, of operands with such loops."""
  if _is_elementwise(op, result):
    return " * ".join(op.cores)
  arguments = [f'"{op.subscripts(result, loops)}"', *op.cores]
  arguments += ['precision="highest"'] * (len(op.cores) > 1)
  return f"jnp.einsum({_tuple(arguments)})"


def widened(op: Op, accumulator: str) -> str:
  if len(op.cores) == 1:
    return f"  x = x.astype({accumulator})"
  names = _tuple(list(op.cores))
  return f"  {names} = (x.astype({accumulator}) for x in ({names}))"


def computed(op: Op, loops: str = "") -> str:
  """Returns the lines that compute the results, and return them rounded."""
  lines = [f"  {y} = {einsum(op, y, loops)}" for y in op.results]
  rounded = [f"{y}.astype(dtype)" for y in op.results]
  return "\n".join([*lines, f"  return {_tuple(rounded)}"])


def dtypes(op: Op) -> str:
  if len(op.cores) == 1:
    return "kit.FLOATING"
  same = (f'"{x}": "x0"' for x in list(op.cores)[1:])
  return f'{{"x0": kit.FLOATING, {_tuple(list(same))}}}'


def shapes(op: Op) -> tuple[str, str]:
  """Returns the lines of a docstring for arguments and for results."""
  shape = lambda core: f"[{', '.join(['...', *core])}]"
  operands = (f"    {x}: of shape {shape(c)}." for x, c in op.cores.items())
  results = (f"    {y}, of shape {shape(c)}." for y, c in op.results.items())
  return "\n".join(operands), "\n".join(results)


def case(op: Op) -> str:
  """Returns the operands to test with: their dimensions have other sizes."""
  sizes = {d: _SIZES[i % len(_SIZES)] for i, d in enumerate(op.dims)}
  cores = (tuple(sizes[d] for d in core) for core in op.cores.values())
  return _tuple([f"Operand({core})" if core else "Operand()" for core in cores])


def definition(op: Op) -> str:
  """Returns the body of the definition in NumPy, for `Bounded` arrays."""
  lines, values = [], []
  for y in op.results:
    before, value = _defined(op, y)
    lines += before
    if len(op.results) > 1:
      lines.append(f"{y} = {value}")
    values.append(y if len(op.results) > 1 else value)
  lines.append(f"return {_tuple(values)}")
  return "\n".join("  " + line for line in lines)


def _defined(op, y):
  """Returns what a result is in NumPy, and lines to go before that."""
  if len(op.cores) == 1 and not op.summed(y):
    value = "x.value"
    if not _is_elementwise(op, y):
      value = f'np.einsum("{op.subscripts(y, "...")}", x.value)'
    return [
        "# A copy keeps subnormal numbers, which arithmetic flushes to zero.",
        "least = np.finfo(x.dtype).smallest_normal",
    ], f"Bounded({value}, x.dtype, least)"
  own, summed = list(op.results[y]), op.summed(y)
  order = op.dims if own == [d for d in op.dims if d in own] else own + summed
  terms = " * ".join(_aligned(x, c, order) for x, c in op.cores.items())
  if not summed:
    return [], terms
  axes = [order.index(d) - len(order) for d in order if d in summed]
  count = " * ".join(f"terms.shape[{axis}]" for axis in axes)
  # The last axis first: those before it then move by one.
  first, *more = (axis + i for i, axis in enumerate(reversed(axes)))
  return [
      f"terms = {terms}",
      "# The handler adds one term after the other.",
      f"count = {count}",
  ], f"terms.sum({first}, additions=count)" + "".join(
      f".sum({axis}, additions=0)" for axis in more
  )


def _aligned(x, core, order):
  """Returns an operand with axes for all dimensions, in this order."""
  own = tuple(d for d in order if d in core)
  if own != core:
    letters = dict(zip(order, "abcdefghijklmnopqrstuvwxyz"))
    before, after = ("".join(map(letters.get, dims)) for dims in (core, own))
    x = f'{x}.map(lambda v: np.einsum("...{before}->...{after}", v))'
  if list(own) == list(order):
    return x
  return f"{x}[..., {', '.join(':' if d in core else 'None' for d in order)}]"


def is_of_rows(op: Op) -> bool:
  """Returns whether the benchmark's loop can call the op."""
  cores = {*op.cores.values(), *op.results.values()}
  is_row = len(cores) == 1 and len(cores.pop()) < 2
  return is_row and len(op.results) <= len(op.cores)


def of_benchmark(op: Op) -> dict[str, str]:
  """Returns what the benchmark has to know of an op of rows."""
  operands, results = list(op.cores), list(op.results)
  backward = [*operands, *("d" + n for n in (*results, *operands))]
  plain = "jnp.promote_types(dtype, jnp.float32)"
  return {
      "backward": str(len(backward)),
      "backward_arrays": ", ".join(backward),
      "computed_plainly": computed(op, "..."),
      "forward": str(len(operands) + len(results)),
      "forward_arrays": ", ".join([*operands, *results]),
      "times_operands": f" * {len(operands)}" * (len(operands) > 1),
      "widened_plainly": widened(op, plain),
  }
