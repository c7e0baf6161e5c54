# SPDX-License-Identifier: Apache-2.0
"""Draws how many times as fast as jax the handlers of loops are."""

from collections.abc import Mapping
import os
import tempfile
from unittest import mock

# Imported, matplotlib looks for fonts, and keeps what it found in a cache.
with (
    tempfile.TemporaryDirectory() as _folder,
    mock.patch.dict(os.environ, PATH=os.devnull, MPLCONFIGDIR=_folder),
):
  import matplotlib
  from matplotlib import figure

_COLORS = ("#c2410c", "#3b82f6")
_GREY = "#808890"  # For light and dark backgrounds.


def save(path: str, ratios: Mapping[tuple[str, int, str], float]) -> None:
  """Writes an SVG file.

  Args:
    path: of the file.
    ratios: jax's time over the handler's, by loop, rows and pass.
  """
  fig = figure.Figure(figsize=(7, 4.5), layout="constrained")
  loops = list(dict.fromkeys(name for name, _, _ in ratios))
  passes = ("forward", "gradient")
  sizes = sorted({rows for _, rows, _ in ratios})
  for axes, kind in zip(fig.subplots(1, 2, sharey=True), passes):
    for k, (rows, color) in enumerate(zip(sizes, _COLORS)):
      drawn = [n for n in loops if (n, rows, kind) in ratios]
      y = [loops.index(n) + (k - 0.5) * 0.38 for n in drawn]
      x = [ratios[n, rows, kind] for n in drawn]
      label = f"{rows} row" + "s" * (rows > 1)
      axes.barh(y, [v - 1 for v in x], 0.36, 1, color=color, label=label)
      for at, value in zip(y, x):
        axes.text(max(value, 1), at, f" {value:.2g}", va="center", color=_GREY)
    axes.set_xscale("log")
    axes.set_xlim(0.3, 1500)
    axes.axvline(1, color=_GREY)
    axes.set_title(kind, loc="left", color=_GREY)
    axes.set_yticks(range(len(loops)), loops)
    axes.tick_params(which="both", colors=_GREY)
    axes.spines[:].set_color(_GREY)
    axes.spines[["top", "right"]].set_visible(False)
  axes.invert_yaxis()
  axes.legend(frameon=False, labelcolor="linecolor")
  fig.supxlabel("speed-up over jax", color=_GREY)
  # The same bytes for the same numbers.
  with matplotlib.rc_context({"svg.hashsalt": "loops"}):
    fig.savefig(path, format="svg", transparent=True, metadata={"Date": None})
