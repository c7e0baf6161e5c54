# SPDX-License-Identifier: Apache-2.0
"""Reads what --execution_log_json_file wrote."""

import json


def spawns(path):
  """Yields the spawns of a log: JSON objects, one after the other."""
  text, decoder, at = path.read_text("utf-8"), json.JSONDecoder(), 0
  while at < len(text):
    spawn, at = decoder.raw_decode(text, at)
    yield spawn
    while text[at : at + 1].isspace():
      at += 1
