# SPDX-License-Identifier: Apache-2.0
"""The targets of an op of random numbers."""

load("//xla_ffi_ops/ops:op.bzl", "native_op")

def random_op(name):
    """native_op, with the options that vectors as values need (vec/vec.h)."""
    native_op(
        name = name,
        copts = [
            "-Wno-psabi",
            "-ffp-contract=off",  # XLA rounds a product of its own where we do.
        ],
        deps = ["//xla_ffi_ops/random"],
    )
