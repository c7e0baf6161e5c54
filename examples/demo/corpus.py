# SPDX-License-Identifier: Apache-2.0
"""The text that the demo learns: as bytes, its entropy, batches of it."""

import dataclasses
import pathlib

import jax
import numpy as np

# Serialized programs, written down as Python strings.
_NO_TEXT = "internal_test_util"


@dataclasses.dataclass(frozen=True)
class Corpus:
  """A text as uint8 [size], and its name for people."""

  name: str
  text: np.ndarray

  def unigram_entropy(self):
    """Returns the nats per byte of a model that only counts bytes."""
    p = np.bincount(self.text) / self.text.size
    p = p[p > 0]
    return float(np.sum(p * np.log(1 / p)))

  def batches(self, shape, seed):
    """Yields int32 arrays of `shape` [batch, time] from random places."""
    generator = np.random.default_rng(seed)
    batch, time = shape
    while True:
      starts = generator.integers(self.text.size - time + 1, size=(batch, 1))
      yield self.text[starts + np.arange(time)].astype(np.int32)


def load(path, minimum):
  """Reads a text of at least `minimum` bytes.

  Args:
    path: of a file; None for the Python sources of the installed jax.
    minimum: number of bytes.

  Returns:
    A `Corpus`.

  Raises:
    OSError: the file cannot be read.
    ValueError: the text is too short.
  """
  if path is None:
    name, data = f"Python sources of jax {jax.__version__}", _jax_sources()
  else:
    name, data = pathlib.Path(path).name, pathlib.Path(path).read_bytes()
  if len(data) < minimum:
    raise ValueError(f"{len(data)} bytes, but {minimum} or more are needed")
  return Corpus(name, np.frombuffer(data, np.uint8))


def _jax_sources():
  folder = pathlib.Path(jax.__file__).parent
  files = sorted(file.relative_to(folder) for file in folder.rglob("*.py"))
  return b"".join(
      (folder / file).read_bytes()
      for file in files
      if _NO_TEXT not in file.parts
  )
