# SPDX-License-Identifier: Apache-2.0
"""rms_norm against jit-compiled jax.numpy: forward, and forward plus backward.

  bazel run //benchmarks:rms_norm_benchmark -- --repeats=15

The bytes are those of x, y, dy and dx once each; the share is of what copying
an array of the size of x reaches in the same run.
"""

import argparse

import jax
import jax.numpy as jnp

import interleaving
from jax_ffi_ops import rms_norm

_SHAPES = ((8, 4), (128, 512), (4096, 512), (2048, 4096), (64, 65536))
_DTYPES = ("float32", "bfloat16", "float16")


def plain(x, scale, eps=1e-6):
  """The same in jax.numpy, in the form that XLA compiles best."""
  wide = x.astype(jnp.float32)
  rstd = jax.lax.rsqrt(jnp.mean(wide * wide, -1, keepdims=True) + eps)
  return (wide * rstd * scale).astype(x.dtype)


def _both_ways(norm):
  return lambda x, scale, dy: jax.vjp(norm, x, scale)[1](dy)


def _bind(function, *operands):
  compiled = jax.jit(function).lower(*operands).compile()
  return lambda: compiled(*operands)


def _report(shape, dtype, repeats):
  x = jax.random.normal(jax.random.key(0), shape).astype(dtype)
  scale = jnp.ones(shape[-1:])
  timings = interleaving.interleave(
      {
          "copy": _bind(jnp.copy, x),
          "forward": _bind(rms_norm, x, scale),
          "jnp forward": _bind(plain, x, scale),
          "backward": _bind(_both_ways(rms_norm), x, scale, x),
          "jnp backward": _bind(_both_ways(plain), x, scale, x),
      },
      repeats,
  )
  size = "x".join(map(str, shape))
  # Forward reads x and writes y; with the backward pass, x is read again, dy
  # is read and dx written.
  for name, streams in ("forward", 2), ("backward", 5):
    ours, theirs = timings[name], timings["jnp " + name]
    bandwidth = streams * x.nbytes / ours.seconds
    share = bandwidth / (2 * x.nbytes / timings["copy"].seconds)
    print(
        f"{size:>11} {dtype:<9}{name:<9}{ours.seconds * 1e6:>10.1f} us"
        f"{bandwidth / 1e9:>7.1f} GB/s{share:>6.0%} of copy;"
        f" jax.numpy{theirs.seconds * 1e6:>10.1f} us,"
        f" {theirs.ratio / ours.ratio:.2f} times as long"
    )


def main():
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("--repeats", type=int, default=15)
  parser.add_argument("--small", action="store_true", help="small arrays only")
  options = parser.parse_args()
  for shape in _SHAPES[: 2 if options.small else None]:
    for dtype in _DTYPES:
      _report(shape, dtype, options.repeats)


if __name__ == "__main__":
  main()
