# SPDX-License-Identifier: Apache-2.0
"""add_rms_norm with scale: both results are used."""

from jax_ffi_ops.timing.cases import CASES


def _torch(nn, x, residual, scale, *, eps):
  sums = x + residual
  return nn.rms_norm(sums, x.shape[-1:], scale, eps), sums


def _numpy(np, x, residual, scale, *, eps):
  sums = x + residual
  squares = np.einsum("ij,ij->i", sums, sums)[:, None]
  return sums / np.sqrt(squares / x.shape[-1] + eps) * scale, sums


CASE = CASES["add_rms_norm"].beside(
    libraries={
        "torch": _torch,
        "liger": lambda liger, x, residual, scale, eps: (
            liger.liger_fused_add_rms_norm(
                x, residual, scale, eps, in_place=False
            )
        ),
        "quack": lambda quack, x, residual, scale, eps: quack.rmsnorm(
            x, scale, residual=residual, eps=eps, prenorm=True
        ),
        "numpy": _numpy,
    },
)
