# SPDX-License-Identifier: Apache-2.0
"""Reads what --execution_log_json_file wrote."""

import collections
import json


def spawns(path):
  """Yields the spawns of a log: JSON objects, one after the other."""
  text, decoder, at = path.read_text("utf-8"), json.JSONDecoder(), 0
  while at < len(text):
    spawn, at = decoder.raw_decode(text, at)
    yield spawn
    while text[at : at + 1].isspace():
      at += 1


def runners(path):
  """Counts who ran what: for each runner, a Counter of mnemonics."""
  counts = collections.defaultdict(collections.Counter)
  for spawn in spawns(path):
    counts[spawn["runner"]][spawn["mnemonic"]] += 1
  return counts
