# SPDX-License-Identifier: Apache-2.0
"""The forward algorithm of a hidden Markov model, in logarithms."""

import pathlib

import jax

from jax_ffi_ops import kit


def _hmm(start, transitions, observations):
  """Returns the log-likelihood.

  Args:
    start: [s], the logarithms of the probabilities of the states.
    transitions: [s, s], from the first to the second.
    observations: [t, s], of each observation in each state.
  """

  def step(alpha, observation):
    paths = alpha[:, None] + transitions
    return jax.nn.logsumexp(paths, axis=0) + observation, None

  return jax.nn.logsumexp(jax.lax.scan(step, start, observations)[0])


hmm = kit.op(
    "hmm",
    library=kit.Library(
        pathlib.Path(__file__).with_name("libhmm_ext.so"), prefix="loops_"
    ),
    signature="(s),(s,s),(t,s)->()",
    reference=_hmm,
    outputs=("log_likelihood",),
    dtypes=("float32",),
)
