# SPDX-License-Identifier: Apache-2.0
"""A structural time series: a trend, a season and noise.

The level of the trend moves by a slope, and both by random steps; so do two
waves of one year and of half a year. Harvey, Forecasting, Structural Time
Series Models and the Kalman Filter, 1989, has the equations.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

_WEEKS = 365.25 / 7  # of a year.
_WAVES = 2
_STATES = 2 + 2 * _WAVES


class Scales(NamedTuple):
  """Logarithms of the standard deviations, in ppm: what is to be found."""

  noise: jax.Array
  level: jax.Array
  slope: jax.Array
  season: jax.Array


def _transition():
  """Returns the matrix that takes the state of a week to that of the next."""
  matrix = np.zeros((_STATES, _STATES), np.float32)
  matrix[:2, :2] = [[1, 1], [0, 1]]
  for i in range(1, _WAVES + 1):
    angle = 2 * np.pi * i / _WEEKS
    cos, sin = np.cos(angle), np.sin(angle)
    matrix[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[cos, sin], [-sin, cos]]
  return matrix


_TRANSITION = _transition()
# The level, and the first of the two states of each wave.
_OBSERVED = np.array([[1, 0] + [1, 0] * _WAVES], np.float32)


def log_likelihood(scales: Scales, series: jax.Array):
  """Returns the log-likelihood of a series, and what is predicted of it.

  It is the Kalman filter of the textbooks, for any number of observed series.

  Args:
    scales: of the model.
    series: one value for each week; NaN is a missing one.

  Returns:
    The log-likelihood; and for each week, given all weeks before it, the mean
    and the variance of its value.
  """
  noise, level, slope, season = (jnp.exp(2 * x) for x in scales)
  steps = jnp.diag(jnp.stack([level, slope] + [season] * 2 * _WAVES))

  def week(state, value):
    mean, covariance = state
    mean = _TRANSITION @ mean
    covariance = _TRANSITION @ covariance @ _TRANSITION.T + steps
    predicted = _OBSERVED @ mean
    variance = _OBSERVED @ covariance @ _OBSERVED.T + noise
    seen = ~jnp.isnan(value)
    error = jnp.where(seen, value - predicted, 0)
    gain = jax.scipy.linalg.solve(
        variance, _OBSERVED @ covariance, assume_a="pos"
    ).T
    gain = jnp.where(seen, gain, 0)
    log_density = jax.scipy.stats.multivariate_normal.logpdf(
        error, jnp.zeros(1), variance
    )
    state = mean + gain @ error, covariance - gain @ variance @ gain.T
    found = jnp.where(seen, log_density, 0), predicted[0], variance[0, 0]
    return state, found

  start = jnp.zeros(_STATES), 10 * jnp.eye(_STATES)
  _, (log_densities, means, variances) = jax.lax.scan(week, start, series)
  return log_densities.sum(), (means, variances)
