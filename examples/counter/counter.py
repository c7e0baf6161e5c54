# SPDX-License-Identifier: Apache-2.0
"""Calls that are not functions of their operands: a counter and a clock.

All need 64-bit integers: call them under jax.enable_x64.
"""

import functools
import pathlib

import jax
import numpy as np

from jax_ffi_ops import kit

_LIBRARY = kit.Library(pathlib.Path(__file__).with_name("libcounter_ext.so"))
_INTEGER = jax.ShapeDtypeStruct((), np.int64)

_counter = functools.partial(
    kit.call,
    "example_counter",
    library=_LIBRARY,
    results=lambda x, *, start: _INTEGER,
    attributes={"start": np.int64},
)

# counter(x, start=5) is x + 5 in a compiled program's first run, then x + 6.
# `careless_counter` says nothing of its side effect.
counter = _counter(has_side_effect=True)
careless_counter = _counter(has_side_effect=False)

# How many counters there are in the process.
alive = kit.call(
    "example_counters_alive",
    library=_LIBRARY,
    results=lambda: _INTEGER,
    has_side_effect=True,
)

# time, token = tick(token): calls that pass a token on run in its order.
tick = kit.call(
    "example_tick",
    library=_LIBRARY,
    results=lambda token: (_INTEGER, kit.abstract_token),
    has_side_effect=True,
)
