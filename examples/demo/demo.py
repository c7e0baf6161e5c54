# SPDX-License-Identifier: Apache-2.0
"""Fits a model of the CO2 in the air twice: by jax_ffi_ops.compile and by jit.

The Kalman filter says how likely 35 years of weeks are. Adam goes up its
gradient from many starts at once. Both fits are the same code; one has a
decorator. Their times have all that is compiled in them.
"""

import argparse
import contextlib
import os
import signal
import sys
import tempfile
import time


def _parse():
  parser = argparse.ArgumentParser(
      prog="demo",
      description=__doc__,
      formatter_class=argparse.RawDescriptionHelpFormatter,
  )
  parser.add_argument(
      "--starts", type=_positive, default=64, help="default: %(default)s"
  )
  parser.add_argument(
      "--steps", type=_positive, default=600, help="default: %(default)s"
  )
  parser.add_argument(
      "--quick", action="store_true", help="the same as --starts=8 --steps=3"
  )
  parser.add_argument(
      "--plot",
      type=_png,
      metavar="FILE.png",
      help="where to save a plot of the forecast and of the fits",
  )
  args = parser.parse_args()
  if args.quick:
    args.starts, args.steps = 8, 3
  return args


def _positive(text):
  if not text.isdecimal() or not 0 < int(text) <= 10**5:
    raise argparse.ArgumentTypeError(f"{text!r} is no integer from 1 to 100000")
  return int(text)


def _png(text):
  if not text.endswith(".png"):
    raise argparse.ArgumentTypeError(f"{text!r} does not end in .png")
  return text


@contextlib.contextmanager
def _one_line(doing, path):
  """Ends the program with one line where the file `path` is no good."""
  try:
    yield
  except OSError as error:
    sys.exit(f"demo: cannot {doing} {path}: {error.strerror or error}")


def _check_writable(path):
  existed = os.path.exists(path)
  with open(path, "ab"):
    pass
  if not existed:
    os.remove(path)


def _timed(name, log_likelihood, *args):
  """Fits, and prints the seconds of all of it."""
  import jax

  import fitting

  start = time.perf_counter()
  found = jax.block_until_ready(fitting.fit(log_likelihood, *args))
  seconds = time.perf_counter() - start
  print(
      f"{name:22}{seconds:9.1f} s, the best of the fits:"
      f" {float(found.losses[-1].min()):.5f} nats per week",
      flush=True,
  )
  return seconds, found


def _run(args):
  # These import jax, for which wrong flags need not wait.
  import fitting
  import forecasting
  import jax_ffi_ops
  import mauna_loa
  import model

  series = mauna_loa.load()
  known, origin = forecasting.split(series.ppm)
  observed = (series.ppm[:known] - origin).astype("float32")
  print(
      f"{known} weeks from {series.years[0]:.0f} to"
      f" {series.years[known]:.0f}; {args.starts} starts, {args.steps} steps",
      flush=True,
  )
  problem = fitting.starts(args.starts), observed, args.steps
  compiled = jax_ffi_ops.compile(model.log_likelihood)
  ours, fits = _timed("jax_ffi_ops.compile", compiled, *problem)
  other, plain = _timed("jax.jit", model.log_likelihood, *problem)
  print(f"{'speed-up':22}{other / ours:9.1f}×")
  forecast = forecasting.forecast(series.ppm, fits)
  print(
      f"The {len(series.ppm) - known} weeks after these are forecast with an"
      f" error of {forecast.error(series.ppm):.2f} ppm.\n"
      f"{forecast.hits(series.ppm):.0%} of them are in the band of 95 %."
  )
  if args.plot is not None:
    import chart  # matplotlib looks at all fonts.

    with _one_line("write", args.plot):
      chart.save(args.plot, series, forecast, fits)
    print(f"Plot: {args.plot}")
  difference = abs(float(fits.losses[-1].min() - plain.losses[-1].min()))
  if not difference < 1e-3:
    sys.exit(f"demo: FAILED: the best fits differ by {difference:.1e}")


def main():
  """Runs the demo; the exit status is 1 if the fits differ."""
  # Ends at once and without a traceback, even inside XLA.
  signal.signal(signal.SIGINT, signal.SIG_DFL)
  signal.signal(signal.SIGPIPE, signal.SIG_DFL)
  args = _parse()
  os.chdir(os.environ.get("BUILD_WORKING_DIRECTORY", "."))
  if args.plot is not None:
    with _one_line("write", args.plot):
      _check_writable(args.plot)
  # An empty cache: the compiler runs each time.
  with tempfile.TemporaryDirectory() as folder:
    os.environ["JAX_FFI_OPS_CACHE"] = os.path.join(folder, "cache")
    _run(args)


if __name__ == "__main__":
  main()
