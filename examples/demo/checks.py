# SPDX-License-Identifier: Apache-2.0
"""What has to be true of two loss curves that differ in the norm's code."""

import dataclasses

import numpy as np

FIRST = 20
# Of the first losses. Measured: at most 3e-7 and 1e-3.
TOLERANCES = {"float32": 1e-5, "bfloat16": 1e-2}
_LAST = 20
_FINAL_TOLERANCE = 0.02
_BELOW_ENTROPY = 0.2
_STEPS_TO_LEARN = 150


@dataclasses.dataclass(frozen=True)
class Check:
  """A claim in words, and whether it holds; None where it was not tried."""

  claim: str
  holds: bool | None


def differences(ours, plain):
  """Returns |ours - plain| / max(plain, 1), float64 [steps].

  Relative, but not for losses near zero: these are differences of larger
  numbers, and precise only to a few ulp of 1.
  """
  ours, plain = np.asarray(ours), np.asarray(plain)
  return np.abs(ours - plain) / np.maximum(plain, 1)


def check(ours, plain, dtype, entropy):
  """Returns the `Check`s of two curves.

  Args:
    ours: losses [steps] with our norm.
    plain: losses [steps] with the norm in plain jax.numpy.
    dtype: name of the model's dtype.
    entropy: of the text's single bytes, in the unit of the losses.
  """
  first = differences(ours, plain)[:FIRST]
  means = [float(np.mean(losses[-_LAST:])) for losses in (ours, plain)]
  final = abs(means[0] / means[1] - 1)
  below = 1 - max(means) / entropy if entropy else 0.0
  enough = len(ours) >= _STEPS_TO_LEARN
  return [
      Check(
          f"the first {first.size} losses differ by up to {first.max():.1e},"
          f" relative (allowed: {TOLERANCES[dtype]:.0e})",
          bool(first.max() <= TOLERANCES[dtype]),
      ),
      Check(
          f"the final means, {means[0]:.4f} and {means[1]:.4f}, differ by"
          f" {final:.3%} (allowed: {_FINAL_TOLERANCE:.0%})",
          bool(final <= _FINAL_TOLERANCE),
      ),
      Check(
          f"both end {below:.0%} below the text's unigram entropy,"
          f" {entropy:.4f} (wanted: {_BELOW_ENTROPY:.0%})"
          if enough
          else f"fewer than {_STEPS_TO_LEARN} steps are too few to end well"
          " below the text's unigram entropy",
          bool(below >= _BELOW_ENTROPY) if enough else None,
      ),
  ]
