# SPDX-License-Identifier: Apache-2.0
"""The demo itself: trains with both norms, prints what came of it."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

import checks
from jax_ffi_ops import kit
from jax_ffi_ops import rms_norm
from jax_ffi_ops.timing import rounds
import language_model
import training

_GENERATED_BYTES = 400
_GENERATED_LINES = 8
_ROUNDS = 100  # In which norms take turns.


def plain_rms_norm(x, scale=None, eps=1e-6):
  """`rms_norm` in plain jax.numpy."""
  y = x.astype(jnp.float32)
  y *= jax.lax.rsqrt(jnp.mean(y * y, axis=-1, keepdims=True) + eps)
  return (y if scale is None else y * scale).astype(x.dtype)


NORMS = {"rms_norm": rms_norm, "jax.numpy": plain_rms_norm}


def run(corpus, config, steps, seed):
  """Runs the experiment and prints all that it finds.

  Args:
    corpus: a `corpus.Corpus`.
    config: a `language_model.Config`.
    steps: how many steps to train.
    seed: of all that is drawn at random.

  Returns:
    The losses as lists by the norm's name, and the claims that turned out
    false as a list of text.
  """
  # In rows as short as the model's, the op would choose XLA's own code.
  with kit.using("handler if served"):
    return _run(corpus, config, steps, seed)


def _run(corpus, config, steps, seed):
  entropy = corpus.unigram_entropy()
  print(
      f"Text      {corpus.name}, {corpus.text.size:,} bytes,"
      f" unigram entropy {entropy:.4f} nats per byte",
      flush=True,
  )
  runs = training.start(config, NORMS, steps, seed)
  _print_setup(runs, config, steps, seed)
  training.train(runs, corpus, config, steps, seed)
  losses = {name: run.losses for name, run in runs.items()}
  _print_losses(*losses.values())
  results = checks.check(*losses.values(), config.dtype, entropy)
  print("\nChecks")
  for result in results:
    mark = {True: "ok", False: "FAILED", None: "-"}[result.holds]
    print(f"  {mark:6}  {result.claim}")
  _print_times(runs, config)
  _print_sample(runs["rms_norm"].params, corpus, config, seed)
  return losses, [each.claim for each in results if each.holds is False]


def _print_setup(runs, config, steps, seed):
  leaves = jax.tree.leaves(runs["rms_norm"].params)
  print(
      f"Model     {config.layers} layers of width {config.width},"
      f" {sum(leaf.size for leaf in leaves):,} parameters, {config.dtype}"
  )
  device = jax.devices()[0]
  kind = device.device_kind
  print(
      f"Platform  {device.platform}"
      + (f" ({kind})" if kind != device.platform else "")
  )
  for name, run in runs.items():
    print(f"Handlers  found in the compiled step with {name}:")
    calls = [f"{n} calls of {target}" for target, n in run.handlers().items()]
    for line in calls or ["none"]:
      print(f"            {line}")
  print(
      f"Training  {steps} steps of {training.BATCH} x {config.context} bytes,"
      f" seed {seed}, both norms in turns",
      flush=True,
  )


def _print_losses(ours, plain):
  differences = checks.differences(ours, plain)
  shown = {unit * 10**power for unit in (1, 2, 5) for power in range(7)}
  print("\nLoss in nats per byte")
  print("      step      rms_norm   jax.numpy  relative difference")
  for step in sorted(shown | {len(ours)}):
    if step <= len(ours):
      print(
          f"  {step:10}{ours[step - 1]:14.6f}{plain[step - 1]:12.6f}"
          f"{differences[step - 1]:21.1e}"
      )


def _time_norms(shape, dtype):
  """Returns the median seconds of a forward and of a backward call, by norm."""
  x, dy = jax.random.normal(jax.random.key(0), (2, *shape), dtype)
  scale = jnp.ones(shape[-1:], dtype)
  pull = jax.jit(lambda pullback, dy: pullback(dy))
  forward, backward = {}, {}
  for name, norm in NORMS.items():
    forward[name] = functools.partial(jax.jit(norm), x, scale)
    _, pullback = jax.jit(functools.partial(jax.vjp, norm))(x, scale)
    backward[name] = functools.partial(pull, pullback, dy)
  for calls in forward, backward:
    timings = rounds.of_calls(calls, _ROUNDS)
    yield {name: timing.seconds[1] for name, timing in timings.items()}


def _print_times(runs, config):
  shape = (training.BATCH, config.context, config.width)
  forward, backward = _time_norms(shape, config.dtype)
  step = {name: np.median(each.seconds) for name, each in runs.items()}
  print(f"\nMedian time       {'rms_norm':>12}{'jax.numpy':>12}  speed-up")
  for name, seconds, unit in (
      ("training step", step, ("ms", 1e3)),
      ("norm, forward", forward, ("us", 1e6)),
      ("norm, backward", backward, ("us", 1e6)),
  ):
    ours, plain = seconds["rms_norm"], seconds["jax.numpy"]
    print(
        f"  {name:16}{ours * unit[1]:9.1f} {unit[0]}"
        f"{plain * unit[1]:9.1f} {unit[0]}{plain / ours:9.2f}×"
    )
  print(f"  the norms alone: {' x '.join(map(str, shape))}, with scale")


def _print_sample(params, corpus, config, seed):
  prompt = next(corpus.batches((1, config.context), seed))[0]
  sample = language_model.generate(
      params,
      prompt,
      jax.random.key(seed),
      config=config,
      norm=rms_norm,
      count=_GENERATED_BYTES,
  )
  print(f"\nThe model goes on after {_text(prompt)!r}")
  lines = [line for line in _text(sample).splitlines() if line.strip()]
  for line in lines[:_GENERATED_LINES]:
    visible = "".join(c if c.isprintable() else "?" for c in line)
    print(f"  | {visible[:74]}")


def _text(tokens):
  return bytes(np.asarray(tokens, np.uint8)).decode("utf-8", "replace")
