# SPDX-License-Identifier: Apache-2.0
"""Our functions take the arguments of those whose place they take."""

import inspect
import operator

from absl.testing import absltest
from absl.testing import parameterized
import namesakes

import jax_ffi_ops
from jax_ffi_ops.ops.common import namesake

# What only we take, where, and why.
_ONLY_OURS = {
    "in_place": (
        "cumlogsumexp cummax cummin cumprod cumsum softmax",
        "A handler can write over an operand; XLA decides that by itself.",
    ),
    "options": (
        "median nanmedian nanpercentile nanquantile percentile permutation"
        " quantile",
        "They pass on what only some versions of jax take, such as weights.",
    ),
    "is_stable": ("top_k", "jax has it from 0.12 on."),
    "out_sharding": ("histogram", "jax has it from 0.12 on."),
    "perturb_singular": ("tridiagonal_solve", "jax has it from 0.10 on."),
    "prefilter": ("map_coordinates", "SciPy has it; jax has no filters."),
    "output": (
        "map_coordinates",
        "SciPy has it, but before `order`, and we keep jax's order.",
    ),
}
# Where a default is another one, and why.
_OWN_DEFAULTS = {
    ("map_coordinates", "order"): "It is SciPy's; jax has none.",
    ("spline_filter", "output"): "SciPy's is float64, which needs x64.",
    ("spline_filter1d", "output"): "SciPy's is float64, which needs x64.",
}

_NAMESAKES = dict(namesakes.NAMESAKES) | {
    f"linalg.{name}": function for name, function in namesakes.LINALG.items()
}


def _ours(name):
  return operator.attrgetter(name)(jax_ffi_ops)


def _arguments(function, skipped=()):
  """Returns names and kinds: whether they are positional, or keywords."""
  parameters = inspect.signature(function).parameters.values()
  return [(x.name, x.kind) for x in parameters if x.name not in skipped]


def _defaults(function):
  parameters = inspect.signature(function).parameters.values()
  return {x.name: x.default for x in parameters}


class SignaturesTest(parameterized.TestCase):

  def test_every_function_is_asked(self):
    self.assertCountEqual(
        namesakes.public_names(),
        [*namesakes.NAMESAKES, *namesakes.ALONE],
        "namesakes.py has each function",
    )

  @parameterized.parameters(*sorted(_NAMESAKES))
  def test_arguments(self, name):
    """They have the same names, order and kinds."""
    ours, theirs = _ours(name), _NAMESAKES[name]
    own = {x for x, (names, _) in _ONLY_OURS.items() if name in names.split()}
    self.assertContainsSubset(own, dict(_arguments(ours)))
    expected = _arguments(theirs)
    if "options" in own:
      expected = [x for x in expected if x[1] != inspect.Parameter.KEYWORD_ONLY]
    # What only one version of jax has is ours in the others.
    own -= {x for x, _ in expected}
    self.assertEqual(_arguments(ours, own), expected)

  @parameterized.parameters(*sorted(_NAMESAKES))
  def test_defaults(self, name):
    ours = _defaults(_ours(name))
    theirs = _defaults(_NAMESAKES[name])
    other = {x for x in ours.keys() & theirs.keys() if ours[x] != theirs[x]}
    self.assertEqual(other, {x for f, x in _OWN_DEFAULTS if f == name})

  @parameterized.parameters(*sorted({*_NAMESAKES, *namesakes.ALONE}))
  def test_help(self, name):
    """Docstrings are whole, also where functions share a part of them."""
    function = _ours(name)
    text = inspect.getdoc(function)
    for section in ("Args", "Returns", "Raises"):
      self.assertEqual(text.count(f"\n\n{section}:\n"), 1, section)
    for argument, _ in _arguments(function):
      self.assertRegex(text, rf"(?m)^  (\*\*)?{argument}: ")
    self.assertNotRegex(text, r"\{\w+\}")

  def test_help_without_indents(self):
    """As Python 3.13 and later have docstrings."""

    def function(x):
      return x

    function.__doc__ = "Returns x.\n\nAs it is."
    text = "\n  Args:\n    x: any.\n  "
    self.assertEqual(
        namesake.documented(text)(function).__doc__,
        "Returns x.\n\nAs it is.\n\nArgs:\n  x: any.",
    )


if __name__ == "__main__":
  absltest.main()
