# SPDX-License-Identifier: Apache-2.0
"""Draws the times of a program by its size: the plots of the examples."""

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

_COLORS = ("#c2410c", "#3b82f6", "#15803d")
_GREY = "#808890"  # For light and dark backgrounds.


def save(
    path: str,
    measured: Mapping[int, Mapping[str, float]],
    *,
    title: str,
    size: str,
) -> None:
  """Writes an SVG file.

  Args:
    path: of the file.
    measured: milliseconds by the name of the function, by size.
    title: of the plot.
    size: what a size counts.
  """
  fig = figure.Figure(figsize=(7, 4), layout="constrained")
  axes = fig.subplots()
  sizes = list(measured)
  for name, color in zip(next(iter(measured.values())), _COLORS):
    y = [measured[n][name] for n in sizes]
    axes.loglog(sizes, y, "o-", color=color, linewidth=2, label=name)
  axes.legend(frameon=False, labelcolor="linecolor")
  axes.set_title(title, loc="left", color=_GREY)
  axes.set_xlabel(size, color=_GREY)
  axes.set_ylabel("milliseconds", color=_GREY)
  axes.set_xscale("log", base=2)
  axes.tick_params(which="both", colors=_GREY)
  axes.spines[:].set_color(_GREY)
  axes.spines[["top", "right"]].set_visible(False)
  axes.grid(color=_GREY, alpha=0.25)
  # The same bytes for the same numbers. Pages may show several plots: the names
  # in each are its own.
  with matplotlib.rc_context({"svg.hashsalt": title}):
    fig.savefig(path, format="svg", transparent=True, metadata={"Date": None})
