# SPDX-License-Identifier: Apache-2.0
"""The random numbers of jax.random, under its names.

Functions take the arguments of their namesakes in the installed jax, and return
the same numbers. On a CPU, handlers make the bits, the keys, and the numbers
that JAX makes by rejection, for keys of Threefry-2x32, JAX's default. Other
kinds of keys, and other platforms, are jax's.
"""

from jax_ffi_ops.composed.permutation import permutation as permutation
from jax_ffi_ops.random.functions import ball as ball
from jax_ffi_ops.random.functions import bernoulli as bernoulli
from jax_ffi_ops.random.functions import beta as beta
from jax_ffi_ops.random.functions import binomial as binomial
from jax_ffi_ops.random.functions import bits as bits
from jax_ffi_ops.random.functions import categorical as categorical
from jax_ffi_ops.random.functions import cauchy as cauchy
from jax_ffi_ops.random.functions import chisquare as chisquare
from jax_ffi_ops.random.functions import choice as choice
from jax_ffi_ops.random.functions import dirichlet as dirichlet
from jax_ffi_ops.random.functions import (
    double_sided_maxwell as double_sided_maxwell,
)
from jax_ffi_ops.random.functions import exponential as exponential
from jax_ffi_ops.random.functions import f as f
from jax_ffi_ops.random.functions import fold_in as fold_in
from jax_ffi_ops.random.functions import gamma as gamma
from jax_ffi_ops.random.functions import (
    generalized_normal as generalized_normal,
)
from jax_ffi_ops.random.functions import geometric as geometric
from jax_ffi_ops.random.functions import gumbel as gumbel
from jax_ffi_ops.random.functions import laplace as laplace
from jax_ffi_ops.random.functions import loggamma as loggamma
from jax_ffi_ops.random.functions import logistic as logistic
from jax_ffi_ops.random.functions import lognormal as lognormal
from jax_ffi_ops.random.functions import maxwell as maxwell
from jax_ffi_ops.random.functions import multinomial as multinomial
from jax_ffi_ops.random.functions import (
    multivariate_normal as multivariate_normal,
)
from jax_ffi_ops.random.functions import normal as normal
from jax_ffi_ops.random.functions import orthogonal as orthogonal
from jax_ffi_ops.random.functions import pareto as pareto
from jax_ffi_ops.random.functions import poisson as poisson
from jax_ffi_ops.random.functions import rademacher as rademacher
from jax_ffi_ops.random.functions import randint as randint
from jax_ffi_ops.random.functions import rayleigh as rayleigh
from jax_ffi_ops.random.functions import split as split
from jax_ffi_ops.random.functions import t as t
from jax_ffi_ops.random.functions import triangular as triangular
from jax_ffi_ops.random.functions import truncated_normal as truncated_normal
from jax_ffi_ops.random.functions import uniform as uniform
from jax_ffi_ops.random.functions import wald as wald
from jax_ffi_ops.random.functions import weibull_min as weibull_min
