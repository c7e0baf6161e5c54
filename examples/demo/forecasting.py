# SPDX-License-Identifier: Apache-2.0
"""Hides the end of a series, and forecasts it."""

from typing import NamedTuple

import jax
import numpy as np

import fitting
import model

_YEARS = 8
_WEEKS_OF_YEAR = 52


class Forecast(NamedTuple):
  """For each week, given the weeks before it that are known.

  Attributes:
    known: how many weeks at the start are known.
    mean: in ppm.
    band: two arrays, between which 95 % of the values are expected.
  """

  known: int
  mean: np.ndarray
  band: tuple[np.ndarray, np.ndarray]

  def hits(self, ppm: np.ndarray) -> float:
    """Returns which part of the hidden values lies in the band."""
    low, high = self.band
    hidden = ppm[self.known :]
    inside = (low[self.known :] <= hidden) & (hidden <= high[self.known :])
    return float(inside[~np.isnan(hidden)].mean())

  def error(self, ppm: np.ndarray) -> float:
    """Returns the root mean square error of the hidden values, in ppm."""
    error = self.mean[self.known :] - ppm[self.known :]
    return float(np.sqrt(np.nanmean(error**2)))


def split(ppm: np.ndarray) -> tuple[int, float]:
  """Returns how many weeks are known, and the mean of the first year."""
  known = len(ppm) - _YEARS * _WEEKS_OF_YEAR
  return known, float(np.nanmean(ppm[:_WEEKS_OF_YEAR]))


def forecast(ppm: np.ndarray, fits: fitting.Fit) -> Forecast:
  """Forecasts by the best of the fits."""
  known, origin = split(ppm)
  best = fits.losses[-1].argmin()
  scales = jax.tree.map(lambda x: x[best], fits.scales)
  series = np.where(np.arange(len(ppm)) < known, ppm - origin, np.nan)
  _, (mean, variance) = jax.jit(model.log_likelihood)(
      scales, series.astype(np.float32)
  )
  mean = np.asarray(mean) + origin
  deviation = 1.96 * np.sqrt(np.asarray(variance))
  return Forecast(known, mean, (mean - deviation, mean + deviation))
