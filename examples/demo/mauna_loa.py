# SPDX-License-Identifier: Apache-2.0
"""The CO2 in the air at Mauna Loa, week by week: a file of statsmodels.

Keeling and Whorf, Atmospheric CO2 concentrations derived from flask air samples,
2004.
"""

import importlib.util
import pathlib
from typing import NamedTuple

import numpy as np


class Series(NamedTuple):
  """Weeks from 1958 to 2001.

  Attributes:
    years: when it was, such as 1958.24.
    ppm: parts of CO2 in a million parts of air; NaN if nothing was measured.
  """

  years: np.ndarray
  ppm: np.ndarray


def load() -> Series:
  # To import the package would need others.
  spec = importlib.util.find_spec("statsmodels")
  path = pathlib.Path(spec.origin).parent / "datasets" / "co2" / "co2.csv"
  lines = path.read_text("utf-8").splitlines()[1:]
  dates, values = zip(*(line.split(",") for line in lines))
  first = np.datetime64(f"{dates[0][:4]}-{dates[0][4:6]}-{dates[0][6:]}")
  days = (first - np.datetime64("1958-01-01")).astype(int)
  years = 1958 + (days + 7 * np.arange(len(dates))) / 365.25
  return Series(years, np.array([float(x or "nan") for x in values]))
