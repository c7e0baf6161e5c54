# SPDX-License-Identifier: Apache-2.0
"""Draws two loss curves, and how far they are apart, into a PNG file."""

import os
import tempfile
from unittest import mock

import numpy as np

import checks

# Imported, matplotlib asks fontconfig's fc-list for fonts, which complains on
# stderr where it cannot write a cache, and keeps the answer in a cache of its
# own. The chart's font is matplotlib's: fc-list is hidden, the cache goes.
with (
    tempfile.TemporaryDirectory() as _folder,
    mock.patch.dict(os.environ, PATH=os.devnull, MPLCONFIGDIR=_folder),
):
  from matplotlib import figure
  from matplotlib import ticker

_OURS, _PLAIN, _GREY = "#c2410c", "#93c5fd", "#6b7280"


def save(path, losses, corpus, config):
  """Writes the chart.

  Args:
    path: of the PNG file.
    losses: two lists of losses by name: our norm, the norm in plain jax.numpy.
    corpus: the `corpus.Corpus` that was learned.
    config: the `language_model.Config` of both models.
  """
  fig = figure.Figure(figsize=(8, 6), dpi=150, layout="constrained")
  top, bottom = fig.subplots(2, sharex=True, height_ratios=(3, 1))
  top.set_title(
      f"A transformer learns {corpus.name} byte by byte ({config.dtype})",
      loc="left",
      parse_math=False,
  )
  _draw_losses(top, losses, corpus.unigram_entropy())
  _draw_differences(bottom, *losses.values(), checks.TOLERANCES[config.dtype])
  for axes in (top, bottom):
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    axes.set_axisbelow(True)
    axes.margins(x=0.01)
  bottom.set_xlabel("training step")
  bottom.xaxis.set_major_locator(ticker.MaxNLocator(integer=True))
  fig.align_ylabels()
  fig.savefig(path, format="png")


def _draw_losses(axes, losses, entropy):
  (ours, ours_losses), (plain, plain_losses) = losses.items()
  steps = np.arange(1, len(ours_losses) + 1)
  axes.plot(
      steps,
      plain_losses,
      color=_PLAIN,
      linewidth=5,
      label=f"loss with {plain}",
  )
  axes.plot(
      steps,
      ours_losses,
      color=_OURS,
      linewidth=1.2,
      label=f"loss with {ours}",
  )
  axes.axhline(
      entropy,
      color=_GREY,
      linestyle="--",
      linewidth=1.2,
      label=f"unigram entropy of the text, {entropy:.2f}",
  )
  axes.set_ylabel("loss in nats per byte")
  axes.legend(frameon=False)


def _draw_differences(axes, ours, plain, tolerance):
  differences = checks.differences(ours, plain)
  steps = np.arange(1, differences.size + 1)
  axes.semilogy(steps, differences, ".", color=_OURS, markersize=3)
  finite = np.isfinite(differences)
  highest = np.max(differences, initial=tolerance, where=finite)
  axes.set_ylim(1e-8, 10 * highest)
  first = min(checks.FIRST, differences.size)
  axes.hlines(tolerance, 1, first, color=_GREY, linestyle="--", linewidth=1.2)
  axes.annotate(
      f"allowed for the first {first} steps",
      (first, tolerance),
      xytext=(6, 0),
      textcoords="offset points",
      verticalalignment="center",
      color=_GREY,
      fontsize=9,
  )
  axes.set_ylabel("relative difference\n(where not zero)")
