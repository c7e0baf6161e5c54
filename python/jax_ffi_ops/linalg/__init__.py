# SPDX-License-Identifier: Apache-2.0
"""Linear algebra of many small matrices, under the names of jax.numpy.linalg.

Functions take the arguments of their namesakes in jax.numpy.linalg and
jax.scipy.linalg. Handlers compute matrices of up to 32 rows, on a CPU, one in
each lane of a vector; whatever else comes is jax's to compute, or to refuse.
"""

from jax_ffi_ops.linalg.cholesky import cho_factor as cho_factor
from jax_ffi_ops.linalg.cholesky import cho_solve as cho_solve
from jax_ffi_ops.linalg.cholesky import cholesky as cholesky
from jax_ffi_ops.linalg.eigh import eigh as eigh
from jax_ffi_ops.linalg.eigh import eigvalsh as eigvalsh
from jax_ffi_ops.linalg.expm import expm as expm
from jax_ffi_ops.linalg.expm import matrix_power as matrix_power
from jax_ffi_ops.linalg.lu import det as det
from jax_ffi_ops.linalg.lu import inv as inv
from jax_ffi_ops.linalg.lu import lu_factor as lu_factor
from jax_ffi_ops.linalg.lu import lu_solve as lu_solve
from jax_ffi_ops.linalg.lu import slogdet as slogdet
from jax_ffi_ops.linalg.lu import solve as solve
from jax_ffi_ops.linalg.qr import qr as qr
from jax_ffi_ops.linalg.svd import norm as norm
from jax_ffi_ops.linalg.svd import pinv as pinv
from jax_ffi_ops.linalg.svd import svd as svd
from jax_ffi_ops.linalg.triangular import solve_triangular as solve_triangular
