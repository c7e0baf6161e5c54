# SPDX-License-Identifier: Apache-2.0
"""The targets of an op of matrices."""

load("//xla_ffi_ops/ops:op.bzl", "native_op")

def matrix_op(name):
    """native_op, with the options that vectors as values need (vec/vec.h)."""
    native_op(
        name = name,
        copts = [
            "-Wno-psabi",
            "-ffp-contract=off",  # Vectors of any size round alike.
        ],
        deps = ["//xla_ffi_ops/linalg"],
    )
