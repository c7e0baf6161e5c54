# SPDX-License-Identifier: Apache-2.0
"""What the public macros and this repository's own BUILD files share."""

WARNINGS = ["-Wall", "-Wextra", "-Werror"]

def optimized(*options):
    """Compiler options for every build but `-c dbg`: Bazel's default is none at all."""
    return select({
        Label("//xla_ffi_ops:debug"): [],
        "//conditions:default": list(options),
    })
