# SPDX-License-Identifier: Apache-2.0
"""Options that the public macros and this repository's own BUILD files share."""

WARNINGS = ["-Wall", "-Wextra", "-Werror"]

SANITIZERS = ["address", "hwaddress", "leak", "memory", "thread", "undefined"]

def optimized(*options):
    """Compiler options for all builds except `-c dbg`: by default, Bazel does not optimize."""
    return select({
        Label("//xla_ffi_ops/private:debug"): [],
        "//conditions:default": list(options),
    })

def if_sanitized(then, otherwise):
    """`then` in builds with a sanitizer, else `otherwise`; both are lists."""

    # Several may hold at once: their values are the same.
    return select({
        Label("//xla_ffi_ops/private:{}_sanitizer".format(name)): then
        for name in SANITIZERS
    } | {"//conditions:default": otherwise})

def all_defined():
    """Linker options: an undefined symbol becomes an error of the build, not of loading."""
    return if_sanitized([], ["-Wl,-z,defs"])

# What the headers of this repository need; a consumer's .bazelrc is its own.
COPTS = ["-std=c++17"]

# -fopenmp-simd obeys `#pragma omp simd` and brings no OpenMP runtime. The other
# two let loops with sqrt and with selects be vectorized. Unlike -ffast-math,
# none of them changes a result.
KERNEL_COPTS = COPTS + optimized("-O3") + [
    "-fopenmp-simd",
    "-fno-math-errno",
    "-fno-trapping-math",
] + select({
    # g++ spills vectors of SSE2 into registers of MMX; long double is NaN afterwards.
    Label("@platforms//cpu:x86_64"): ["-mno-mmx"],
    "//conditions:default": [],
})
