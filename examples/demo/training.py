# SPDX-License-Identifier: Apache-2.0
"""Trains the language model with several norms side by side."""

import dataclasses
import re
import time
from typing import Any

import jax
import jax.numpy as jnp
import optax
import tqdm

import language_model

BATCH = 24
_LEARNING_RATE = 5e-3
_WARMUP_STEPS = 40


@dataclasses.dataclass
class Run:
  """One training: its compiled step, its state, and what was measured."""

  step: Any
  params: Any
  state: Any
  losses: list[float] = dataclasses.field(default_factory=list)
  seconds: list[float] = dataclasses.field(default_factory=list)

  def advance(self, tokens):
    """Takes one step on int32 `tokens` [batch, time]."""
    start = time.perf_counter()
    self.params, self.state, loss = jax.block_until_ready(
        self.step(self.params, self.state, tokens)
    )
    self.seconds.append(time.perf_counter() - start)
    self.losses.append(float(loss))

  def handlers(self):
    """Returns each FFI target of ours in the compiled step and its calls."""
    targets = re.findall(
        r'custom_call_target="(xla_ffi_ops_\w+)"', self.step.as_text()
    )
    return {target: targets.count(target) for target in sorted(set(targets))}


def start(config, norms, steps, seed):
  """Compiles one training for each of `norms`, all from the same parameters.

  Args:
    config: a `language_model.Config`.
    norms: the norms by name, as `language_model.logits` wants them.
    steps: how many steps there will be.
    seed: of the parameters.

  Returns:
    A `Run` for each name.
  """
  optimizer = optax.adamw(
      optax.warmup_cosine_decay_schedule(
          init_value=0,
          peak_value=_LEARNING_RATE,
          warmup_steps=_WARMUP_STEPS,
          decay_steps=max(steps, _WARMUP_STEPS + 1),
          end_value=_LEARNING_RATE / 10,
      )
  )
  params = language_model.init(config, jax.random.key(seed))
  return {
      name: _compile(params, optimizer, config, norm)
      for name, norm in norms.items()
  }


def _compile(params, optimizer, config, norm):
  def step(params, state, tokens):
    loss, gradient = jax.value_and_grad(language_model.loss)(
        params, tokens, config, norm
    )
    updates, state = optimizer.update(gradient, state, params)
    return optax.apply_updates(params, updates), state, loss

  state = optimizer.init(params)
  tokens = jax.ShapeDtypeStruct((BATCH, config.context + 1), jnp.int32)
  compiled = jax.jit(step).lower(params, state, tokens).compile()
  return Run(compiled, params, state)


def train(runs, corpus, config, steps, seed):
  """Trains all `runs` on the same batches, under a progress bar.

  They take turns step by step, so that whatever else the machine does meanwhile
  slows all of them alike.

  Args:
    runs: from `start`; they get the losses and times.
    corpus: a `corpus.Corpus`.
    config: the one that `start` had.
    steps: how many steps each run takes.
    seed: of the batches.
  """
  batches = corpus.batches((BATCH, config.context + 1), seed)
  turns = list(runs.values())
  with tqdm.tqdm(total=steps, unit=" steps", disable=None) as bar:
    for _ in range(steps):
      tokens = jnp.asarray(next(batches))
      for run in turns:
        run.advance(tokens)
      turns.reverse()
      losses = {name: f"{run.losses[-1]:.3f}" for name, run in runs.items()}
      bar.set_postfix(losses, refresh=False)
      bar.update()
