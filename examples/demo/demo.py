# SPDX-License-Identifier: Apache-2.0
"""Trains a small language model whose every norm is jax_ffi_ops.rms_norm.

It trains the same model with the norm in plain jax.numpy too, and compares:
the losses, the time of a training step, the time of the norms alone.
"""

import argparse
import contextlib
import os
import signal
import sys


def _parse():
  parser = argparse.ArgumentParser(
      prog="demo",
      description=__doc__,
      formatter_class=argparse.RawDescriptionHelpFormatter,
  )
  parser.add_argument(
      "--data",
      metavar="FILE",
      help="the text to learn (default: the Python sources of jax)",
  )
  parser.add_argument(
      "--steps",
      type=_integer(1, 10**6),
      default=250,
      metavar="N",
      help="training steps (default: %(default)s)",
  )
  parser.add_argument(
      "--dtype",
      choices=("float32", "bfloat16"),
      default="float32",
      help="of the model's arithmetic (default: %(default)s)",
  )
  parser.add_argument(
      "--seed",
      type=_integer(0, 2**31 - 1),
      default=0,
      metavar="N",
      help="of parameters, batches and samples (default: %(default)s)",
  )
  parser.add_argument(
      "--plot",
      type=_png,
      metavar="FILE.png",
      help="where to save a plot of both loss curves",
  )
  return parser.parse_args()


def _integer(low, high):
  def parse(text):
    try:
      value = int(text)
    except ValueError:
      value = None
    if value is None or not low <= value <= high:
      raise argparse.ArgumentTypeError(
          f"{text!r} is no integer from {low} to {high}"
      )
    return value

  return parse


def _png(text):
  if not text.endswith(".png"):
    raise argparse.ArgumentTypeError(f"{text!r} does not end in .png")
  return text


@contextlib.contextmanager
def _one_line(doing, path):
  """Ends the program with one line where the file `path` is no good."""
  try:
    yield
  except (OSError, ValueError) as error:
    reason = getattr(error, "strerror", None) or error
    sys.exit(f"demo: cannot {doing} {path}: {reason}")


def _check_writable(path):
  existed = os.path.exists(path)
  with open(path, "ab"):
    pass
  if not existed:
    os.remove(path)


def main():
  """Runs the demo; the exit status is 1 if a claim turns out false."""
  # Ends at once and without a traceback, even inside XLA.
  signal.signal(signal.SIGINT, signal.SIG_DFL)
  signal.signal(signal.SIGPIPE, signal.SIG_DFL)
  sys.stdout.reconfigure(errors="replace")
  args = _parse()
  os.chdir(os.environ.get("BUILD_WORKING_DIRECTORY", "."))
  if args.plot is not None:
    with _one_line("write", args.plot):
      _check_writable(args.plot)

  # These import jax, for which wrong flags need not wait.
  import corpus
  import experiment
  import language_model

  config = language_model.Config(dtype=args.dtype)
  with _one_line("use", args.data):
    text = corpus.load(args.data, config.context + 1)
  losses, failed = experiment.run(text, config, args.steps, args.seed)
  if args.plot is not None:
    import chart  # matplotlib looks at all fonts.

    with _one_line("write", args.plot):
      chart.save(args.plot, losses, text, config)
    print(f"\nPlot      {args.plot}")
  if failed:
    sys.exit(f"demo: FAILED: {'; '.join(failed)}")


if __name__ == "__main__":
  main()
