# SPDX-License-Identifier: Apache-2.0
"""Draws what was measured and what was forecast, and the fits, into a PNG."""

import logging
import os
import tempfile
from unittest import mock

import numpy as np

# Imported, matplotlib asks fontconfig's fc-list for fonts, which complains on
# stderr where it cannot write a cache, and keeps the answer in a cache of its
# own. The chart's font is matplotlib's: fc-list is hidden, the cache goes. On a
# busy machine that takes seconds, which would be a warning.
logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
with (
    tempfile.TemporaryDirectory() as _folder,
    mock.patch.dict(os.environ, PATH=os.devnull, MPLCONFIGDIR=_folder),
):
  from matplotlib import figure

_OURS, _BAND, _GREY = "#c2410c", "#fed7aa", "#6b7280"


def save(path, series, forecast, fits):
  """Writes the chart.

  Args:
    path: of the PNG file.
    series: a `mauna_loa.Series`.
    forecast: a `forecasting.Forecast`.
    fits: the `fitting.Fit` of all starts.
  """
  fig = figure.Figure(figsize=(9, 6), dpi=150, layout="constrained")
  top, bottom = fig.subplots(2, height_ratios=(3, 1))
  _draw_series(top, series, forecast)
  _draw_fits(bottom, np.asarray(fits.losses))
  for axes in (top, bottom):
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    axes.set_axisbelow(True)
    axes.margins(x=0.01)
  fig.align_ylabels()
  fig.savefig(path, format="png")


def _draw_series(axes, series, forecast):
  hidden = slice(forecast.known, None)
  years = series.years[hidden]
  low, high = forecast.band
  axes.set_title("CO2 at Mauna Loa, and a forecast from its past", loc="left")
  axes.fill_between(
      years, low[hidden], high[hidden], color=_BAND, label="95 % of forecasts"
  )
  axes.plot(years, forecast.mean[hidden], color=_OURS, label="forecast")
  axes.plot(
      series.years, series.ppm, ".", color=_GREY, markersize=2, label="measured"
  )
  axes.axvline(years[0], color=_GREY, linestyle="--", linewidth=1.2)
  axes.set_ylabel("ppm")
  axes.legend(frameon=False, loc="upper left")


def _draw_fits(axes, losses):
  axes.plot(losses - losses.min() + 1e-4, color=_OURS, linewidth=0.6, alpha=0.6)
  axes.set_yscale("log")
  axes.set_ylabel("loss above\nthe best")
  axes.set_xlabel(f"step of Adam, from {losses.shape[1]} starts")
