# SPDX-License-Identifier: Apache-2.0
"""What the public macros and this repository's own BUILD files share."""

WARNINGS = ["-Wall", "-Wextra", "-Werror"]

SANITIZERS = ["address", "hwaddress", "leak", "memory", "thread", "undefined"]

def optimized(*options):
    """Compiler options for every build but `-c dbg`: Bazel's default is none at all."""
    return select({
        Label("//xla_ffi_ops/private:debug"): [],
        "//conditions:default": list(options),
    })

def all_defined():
    """Linker options: what is used and nowhere defined is an error of the build, not of loading."""

    # Several may hold at once: their values are the same.
    return select({
        Label("//xla_ffi_ops/private:{}_sanitizer".format(name)): []
        for name in SANITIZERS
    } | {"//conditions:default": ["-Wl,-z,defs"]})
