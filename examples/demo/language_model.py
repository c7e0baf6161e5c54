# SPDX-License-Identifier: Apache-2.0
"""A byte-level transformer language model whose norm is a parameter."""

import dataclasses
import functools

import jax
import jax.numpy as jnp


@dataclasses.dataclass(frozen=True)
class Config:
  """The sizes of a model; `dtype` is that of its arithmetic."""

  layers: int = 2
  heads: int = 2
  width: int = 128
  context: int = 64
  dtype: str = "float32"


def init(config, key):
  """Returns float32 parameters drawn from the random `key`."""
  embed, head, *layers = jax.random.split(key, 2 + config.layers)
  return {
      "embed": 0.3 * jax.random.normal(embed, (256, config.width)),
      "layers": [_init_layer(key, config.width) for key in layers],
      "norm": jnp.ones(config.width),
      "head": _matrix(head, config.width, 256),
  }


def _init_layer(key, width):
  qkv, out, up, down = jax.random.split(key, 4)
  return {
      "attention_norm": jnp.ones(width),
      "qkv": _matrix(qkv, width, 3 * width),
      "out": _matrix(out, width, width),
      "mlp_norm": jnp.ones(width),
      "up": _matrix(up, width, 4 * width),
      "down": _matrix(down, 4 * width, width),
  }


def _matrix(key, rows, cols):
  return jax.random.normal(key, (rows, cols)) / jnp.sqrt(rows)


def logits(params, tokens, config, norm):
  """Predicts the byte after each byte.

  Args:
    params: from `init`.
    tokens: integers [batch, time].
    config: the one that `init` had.
    norm: called as `norm(x)` or `norm(x, scale)`; works on the last axis.

  Returns:
    float32 [batch, time, 256].
  """
  params = jax.tree.map(lambda p: p.astype(config.dtype), params)
  x = params["embed"][tokens]
  for layer in params["layers"]:
    x += _attention(layer, norm(x, layer["attention_norm"]), config.heads, norm)
    hidden = jax.nn.gelu(norm(x, layer["mlp_norm"]) @ layer["up"])
    x += hidden @ layer["down"]
  x = norm(x, params["norm"]) @ params["head"]
  return x.astype(jnp.float32)


def _attention(layer, x, heads, norm):
  batch, time, width = x.shape
  qkv = (x @ layer["qkv"]).reshape(batch, time, 3, heads, width // heads)
  q, k, v = jnp.moveaxis(qkv, 2, 0)
  q, k = _rotate(norm(q)), _rotate(norm(k))
  x = jax.nn.dot_product_attention(q, k, v, is_causal=True)
  return x.reshape(batch, time, width) @ layer["out"]


def _rotate(x):
  """Marks positions by rotation (RoFormer, arXiv:2104.09864)."""
  time, half = x.shape[1], x.shape[3] // 2
  angles = jnp.arange(time)[:, None] * 1e4 ** (-jnp.arange(half) / half)
  cos = jnp.cos(angles)[:, None].astype(x.dtype)
  sin = jnp.sin(angles)[:, None].astype(x.dtype)
  a, b = jnp.split(x, 2, axis=-1)
  return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)


def loss(params, tokens, config, norm):
  """Returns the mean cross-entropy of all bytes but the first, in nats."""
  log_p = jax.nn.log_softmax(logits(params, tokens[:, :-1], config, norm))
  return -jnp.mean(jnp.take_along_axis(log_p, tokens[:, 1:, None], axis=-1))


@functools.partial(jax.jit, static_argnames=("config", "norm", "count"))
def generate(params, prompt, key, *, config, norm, count, temperature=0.8):
  """Continues int32 bytes `prompt` [time] by `count` bytes, int32 [count]."""

  def next_byte(window, key):
    scores = logits(params, window[None], config, norm)[0, -1]
    byte = jax.random.categorical(key, scores / temperature).astype(jnp.int32)
    return jnp.append(window[1:], byte), byte

  return jax.lax.scan(next_byte, prompt, jax.random.split(key, count))[1]
