# SPDX-License-Identifier: Apache-2.0
"""Times loops of packages, as installed, by jit and by jax_ffi_ops.compile.

Besides, it has programs that XLA's own benchmarks list as slow ones: `xla`.

bazel run //tests/compiled:packages -- --only=dynamax

Each time is the median of rounds in which both take turns. The last column has
the seconds of our first calls, with all that is compiled; the cache may have
parts of it.
"""

from collections.abc import Callable, Sequence
import time
from typing import Any, NamedTuple

from absl import app
from absl import flags
import jax
import jax.numpy as jnp

import jax_ffi_ops
from jax_ffi_ops.timing import rounds

_ONLY = flags.DEFINE_list("only", None, "Which packages.")
_ROWS = flags.DEFINE_list(
    "rows", ["1", "64", "1000"], "How many rows a call has."
)
_ROUNDS = flags.DEFINE_integer("rounds", 7, "How often each is timed.")
_CPU_TIME = flags.DEFINE_bool(
    "cpu_time",
    False,
    "Time all threads, for busy machines, not the wall clock.",
)


class Loop(NamedTuple):
  """A call that is timed.

  Attributes:
    name: of the loop.
    function: of one row.
    args: of one row.
    axes: as vmap's in_axes.
    differentiable: whether jax has a gradient.
  """

  name: str
  function: Callable[..., Any]
  args: Sequence[Any]
  axes: Sequence[int | None]
  differentiable: bool = False


def _key():
  return jax.random.key(0)


def _dynamax():
  # pylint: disable=g-import-not-at-top
  from dynamax.hidden_markov_model import hmm_filter
  from dynamax.hidden_markov_model import hmm_posterior_mode
  from dynamax.hidden_markov_model import hmm_smoother
  from dynamax.linear_gaussian_ssm import lgssm_filter
  from dynamax.linear_gaussian_ssm import lgssm_smoother
  from dynamax.linear_gaussian_ssm import LinearGaussianSSM

  model, _ = LinearGaussianSSM(4, 2).initialize(_key())
  series = jax.random.normal(_key(), (1000, 2))

  def of_dynamics(weights, series):
    dynamics = model.dynamics._replace(weights=weights)
    own = model._replace(dynamics=dynamics)
    return lgssm_filter(own, series).marginal_loglik

  weights = model.dynamics.weights
  start = jnp.ones(5) / 5
  moves = jax.random.dirichlet(_key(), jnp.ones(5), (5,))
  logs = jax.random.normal(_key(), (1000, 5))
  row = [0]
  yield Loop(
      "`lgssm_filter` of series",
      lambda ys: lgssm_filter(model, ys).marginal_loglik,
      [series], row, True,
  )  # fmt: skip
  yield Loop(
      "`lgssm_filter` of models",
      of_dynamics,
      [weights, series],
      [0, None],
      True,
  )
  yield Loop(
      "`lgssm_smoother`",
      lambda ys: lgssm_smoother(model, ys).smoothed_means,
      [series], row, True,
  )  # fmt: skip
  yield Loop(
      "`hmm_filter`",
      lambda x: hmm_filter(start, moves, x).marginal_loglik,
      [logs], row, True,
  )  # fmt: skip
  yield Loop(
      "`hmm_smoother`",
      lambda x: hmm_smoother(start, moves, x).smoothed_probs,
      [logs], row, True,
  )  # fmt: skip
  yield Loop(
      "`hmm_posterior_mode`",
      lambda x: hmm_posterior_mode(start, moves, x),
      [logs], row,
  )  # fmt: skip


def _diffrax():
  import diffrax  # pylint: disable=g-import-not-at-top

  def lorenz(t, y, a):
    del t
    return jnp.stack(
        [
            10 * (y[1] - y[0]),
            y[0] * (a - y[2]) - y[1],
            y[0] * y[1] - 8 / 3 * y[2],
        ]
    )

  def solve(solver, end, **options):
    def solution(y, a):
      return diffrax.diffeqsolve(
          diffrax.ODETerm(lorenz), solver, 0.0, end, 0.01, y, args=a,
          max_steps=500, throw=False, **options,
      ).ys  # fmt: skip

    return solution

  control = diffrax.PIDController(rtol=1e-4, atol=1e-4)
  times = diffrax.SaveAt(ts=jnp.linspace(0, 1, 50))
  args = [jnp.array([1.0, 2.0, 3.0]), jnp.float32(28)]
  for name, function in {
      "Tsit5, 500 steps": solve(diffrax.Tsit5(), 5.0),
      "Tsit5, adaptive": solve(
          diffrax.Tsit5(), 1.0, stepsize_controller=control
      ),
      "Heun, `SaveAt`": solve(diffrax.Heun(), 1.0, saveat=times),
  }.items():
    yield Loop(name, function, args, [0, None])


def _blackjax():
  import blackjax  # pylint: disable=g-import-not-at-top

  x = jax.random.normal(_key(), (100, 3))
  y = (x @ jnp.array([1.0, -1.0, 0.5]) > 0).astype(jnp.float32)

  def log_density(q):
    z = x @ q
    return jnp.sum(y * z - jnp.logaddexp(0.0, z)) - 0.5 * q @ q

  def samples(algorithm, n):
    def step(state, key):
      state, _ = algorithm.step(key, state)
      return state, state.position

    def run(key, q):
      keys = jax.random.split(key, n)
      return jax.lax.scan(step, algorithm.init(q), keys)[1]

    return run

  walk = blackjax.mcmc.random_walk.normal(0.1 * jnp.eye(3))
  scales = dict(step_size=0.1, inverse_mass_matrix=jnp.ones(3))
  for name, algorithm, n in (
      (
          "random walk",
          blackjax.additive_step_random_walk(log_density, walk),
          200,
      ),
      (
          "HMC",
          blackjax.hmc(log_density, num_integration_steps=10, **scales),
          100,
      ),
      ("NUTS", blackjax.nuts(log_density, **scales), 100),
  ):
    yield Loop(
        f"{name}, {n} steps",
        samples(algorithm, n),
        [_key(), jnp.zeros(3)],
        [0, 0],
    )


def _optax():
  import optax  # pylint: disable=g-import-not-at-top

  x = jax.random.normal(_key(), (50, 4))
  y = x @ jnp.arange(4.0)
  loss = lambda w: jnp.mean((x @ w - y) ** 2)

  def adam(w):
    method = optax.adam(0.05)

    def step(carry, _):
      w, state = carry
      updates, state = method.update(jax.grad(loss)(w), state, w)
      return (optax.apply_updates(w, updates), state), None

    return jax.lax.scan(step, (w, method.init(w)), None, length=300)[0][0]

  def lbfgs(w):
    method = optax.lbfgs()
    value_and_grad = optax.value_and_grad_from_state(loss)

    def step(carry, _):
      w, state = carry
      value, grad = value_and_grad(w, state=state)
      updates, state = method.update(
          grad, state, w, value=value, grad=grad, value_fn=loss
      )
      return (optax.apply_updates(w, updates), state), value

    return jax.lax.scan(step, (w, method.init(w)), None, length=20)[0][0]

  yield Loop("`adam`, 300 steps", adam, [jnp.zeros(4)], [0], True)
  yield Loop("`lbfgs`, 20 steps", lbfgs, [jnp.full(4, 0.1)], [0])


def _jaxopt():
  import jaxopt  # pylint: disable=g-import-not-at-top

  t = jnp.linspace(0, 1, 20)
  residuals = lambda p: p[0] * jnp.exp(-p[1] * t) - 3 * jnp.exp(-2 * t)
  squares = lambda p: jnp.sum(residuals(p) ** 2)
  for name, solver in {
      "`LevenbergMarquardt`": jaxopt.LevenbergMarquardt(residuals, maxiter=30),
      "`GradientDescent`": jaxopt.GradientDescent(squares, maxiter=100),
      "`BFGS`": jaxopt.BFGS(squares, maxiter=50),
  }.items():
    run = lambda p, solver=solver: solver.run(p).params
    yield Loop(name, run, [jnp.ones(2)], [0])


def _optimistix():
  import lineax  # pylint: disable=g-import-not-at-top
  import optimistix  # pylint: disable=g-import-not-at-top

  t = jnp.linspace(0, 1, 20)
  residuals = lambda p, y: p[0] * jnp.exp(-p[1] * t) + p[2] - y
  data = 2 * jnp.exp(-1.5 * t) + 0.5

  def fit(method):
    solver = method(1e-5, 1e-6, linear_solver=lineax.QR())

    def run(p, y):
      return optimistix.least_squares(
          residuals, solver, p, args=y, max_steps=64, throw=False
      ).value

    return run

  for name in ("LevenbergMarquardt", "GaussNewton", "Dogleg"):
    function = fit(getattr(optimistix, name))
    yield Loop(f"`{name}`", function, [jnp.ones(3), data], [0, 0])


def _numpyro():
  # pylint: disable=g-import-not-at-top
  import numpyro
  from numpyro import distributions
  from numpyro.infer.hmc import hmc
  from numpyro.infer.util import initialize_model

  def model():
    mean = numpyro.sample("mean", distributions.Normal(0, 1))
    scale = numpyro.sample("scale", distributions.HalfNormal(1))
    numpyro.sample(
        "x", distributions.Normal(mean, scale), obs=jnp.arange(10.0) / 5
    )

  made = initialize_model(jax.random.PRNGKey(0), model)
  init, step = hmc(made.potential_fn, algo="HMC")
  start = init(
      made.param_info,
      num_warmup=0,
      step_size=0.1,
      trajectory_length=1.0,
      rng_key=jax.random.PRNGKey(1),
  )

  def run(x):
    state = start._replace(z=jax.tree.map(lambda z: z + x, start.z))
    both = lambda state, _: (step(state), state.z["mean"])
    return jax.lax.scan(both, state, None, length=100)[1]

  yield Loop("HMC, 100 steps", run, [jnp.float32(0.1)], [0])


def _xla():
  """Stated anew: programs that XLA's own benchmarks have, as slow ones."""
  joints, nuclides = 35, 8

  def mass_matrix(q):  # jax#26021
    def joint(before, angle):
      c, s = jnp.cos(angle), jnp.sin(angle)
      own = jnp.array(
          [[c, 0, s, 0.2], [s, 0, -c, 0], [0, 1, 0, 0], [0, 0, 0, 1]]
      )
      after = before @ own
      return after, (after[:3, 2], after[:3, 3])

    axes, places = jax.lax.scan(joint, jnp.eye(4), q)[1]
    moved = jnp.tril(jnp.ones((joints, joints)))[..., None]
    moves = moved * jnp.cross(axes, places[:, None] - places)
    turns = moved * axes
    squares = lambda x: jnp.einsum("kix,kjx->ij", x, x)
    return squares(moves) + 0.1 * squares(turns)

  def rotations(matrix, steps):  # jax#36799
    def step(state, x):
      state = state @ (matrix + x * jnp.eye(3))
      state = state / jnp.sqrt(jnp.sum(state**2))
      return state, state[0]

    return jax.lax.scan(step, jnp.eye(3), steps)[1]

  def reactions(rates):  # of the kind of linx, jax#33666
    def change(y):
      flows = rates * y[:-1] * jnp.append(y[1:-1], 1)
      return jnp.append(0, flows) - jnp.append(flows, 0)

    def step(y, dt):
      def newton(_, new):
        wrong = new - y - dt * change(new)
        slope = jnp.eye(nuclides) - dt * jax.jacfwd(change)(new)
        return new - jnp.linalg.solve(slope, wrong)

      new = jax.lax.fori_loop(0, 4, newton, y)
      return new, new

    start = jnp.full(nuclides, 1 / nuclides)
    return jax.lax.scan(step, start, jnp.logspace(-4, 0, 200))[1]

  yield Loop("mass matrix of 35 joints", mass_matrix, [jnp.ones(joints)], [0])
  matrix = jnp.array([[0, -1.0, 0.2], [1, 0, 0.1], [0.3, 0, 1]])
  args = [matrix, jnp.linspace(0, 1, 2000)]
  yield Loop("2,000 matrices of 3 x 3", rotations, args, [0, None], True)
  rates = jnp.geomspace(1.0, 1e4, nuclides - 1)
  yield Loop("stiff reactions, 200 steps", reactions, [rates], [0])


_PACKAGES = {
    "xla": _xla,
    "dynamax": _dynamax,
    "diffrax": _diffrax,
    "blackjax": _blackjax,
    "numpyro": _numpyro,
    "optax": _optax,
    "jaxopt": _jaxopt,
    "optimistix": _optimistix,
}


def _sum_of(function):
  def total(*args):
    leaves = jax.tree.leaves(function(*args))
    floats = [x for x in leaves if jnp.issubdtype(x.dtype, jnp.floating)]
    return sum(jnp.sum(x) for x in floats)

  return total


def _of_rows(x, rows):
  if jnp.issubdtype(x.dtype, jax.dtypes.prng_key):
    return jax.random.split(x, rows)
  scales = 1 + 1e-3 * jnp.arange(rows, dtype=x.dtype)
  return scales.reshape(-1, *[1] * x.ndim) * x


def _with_rows(loop, function, rows):
  """Returns a function of so many rows, and its arguments."""
  args = loop.args
  if rows > 1:
    function = lambda *xs, f=function: jax.vmap(f, tuple(loop.axes))(*xs)
    args = [
        x if axis is None else _of_rows(x, rows)
        for x, axis in zip(args, loop.axes)
    ]
  return function, args


def _cell(loop, wrapped, rows):
  """Returns a cell of the table, and the seconds of our first call."""
  first = []

  def call(compiled):
    own = jax_ffi_ops.compile(loop.function) if compiled else loop.function
    function, args = _with_rows(loop, wrapped(own), rows)
    run = jax.jit(function)
    start = time.perf_counter()
    jax.block_until_ready(run(*args))
    first.append(time.perf_counter() - start)
    return lambda: run(*args)

  timings = rounds.of_calls(
      {name: call(name == "ours") for name in ("jit", "ours")}, _ROUNDS.value
  )
  before, after = (1e3 * timings[x].seconds[1] for x in ("jit", "ours"))
  return f"{before:.3g} / {after:.3g} ms, {before / after:.1f}×", first[1]


def _row(package, loop):
  rows = [int(n) for n in _ROWS.value]
  cells, seconds = [], 0.0
  for wrapped in (lambda f: f, lambda f: jax.grad(_sum_of(f))):
    for n in rows:
      if len(cells) >= len(rows) and not loop.differentiable:
        cells.append("")
        continue
      cell, first = _cell(loop, wrapped, n)
      cells.append(cell)
      seconds += first
  return [package, loop.name, *cells, f"{seconds:.1f}"]


def main(_):
  if _CPU_TIME.value:
    rounds.clock = time.process_time
  names = [
      f"{name}, {n} row{'s' * (n != '1')}: jit / ours"
      for name in ("forward", "gradient")
      for n in _ROWS.value
  ]
  head = ["package", "loop", *names, "first calls, s"]
  for line in head, ["---"] * len(head):
    print("|", " | ".join(line), "|")
  for package in _ONLY.value or _PACKAGES:
    for loop in _PACKAGES[package]():
      print("|", " | ".join(_row(package, loop)), "|", flush=True)


if __name__ == "__main__":
  app.run(main)
