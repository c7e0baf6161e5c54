# SPDX-License-Identifier: Apache-2.0
"""What the tests here have in common."""

load("@rules_python//python:defs.bzl", "py_test")

_DISASSEMBLER = {
    "CUOBJDUMP": "@xla_ffi_ops_cuda//:cuobjdump",
    "NVDISASM": "@xla_ffi_ops_cuda//:nvdisasm",
}

def cuda_test(name, src = None, libraries = {}, env = {}, deps = [], disassembles = False, tags = []):
    """A py_test of what --config=cuda builds; it needs no GPU.

    Args:
      name: its source is `name`.py, or `src`.
      src: see `name`.
      libraries: shared objects, by the environment variable that has the path.
      env: more environment variables.
      deps: Python libraries, beside the kit, jax and absl.
      disassembles: whether it has the toolkit's disassembler, for sass.py.
      tags: more tags.
    """
    files = libraries | (_DISASSEMBLER if disassembles else {})
    py_test(
        name = name,
        size = "medium" if disassembles else "small",
        srcs = [src or name + ".py"],
        main = src or name + ".py",
        data = files.values(),
        env = {key: "$(rootpath %s)" % label for key, label in files.items()} | {
            "ARCHITECTURES": "$(CUDA_ARCHITECTURES)",
        } | env,
        legacy_create_init = False,
        tags = tags + ["cuda"],
        target_compatible_with = select({
            "//:cuda_enabled": [],
            "//conditions:default": ["//:needs_flag_cuda"],
        }),
        toolchains = ["//:cuda_architectures"],
        deps = deps + [
            "//python/jax_ffi_ops/kit",
            "@xla_ffi_ops_pypi//:absl_py",
            "@xla_ffi_ops_pypi//:jax",
        ],
    )
