# SPDX-License-Identifier: Apache-2.0
"""What runs the CUDA kernels of an op in the emulator."""

load("@rules_cc//cc:defs.bzl", "cc_library", "cc_test")
load("//tests:defs.bzl", "THOROUGH", "jax_test")
load("//xla_ffi_ops:defs.bzl", "xla_ffi_extension", "xla_ffi_library")

COPTS = [
    # A kernel accesses several elements at once, as if they were another type.
    "-fno-strict-aliasing",
    # nvcc's are those that count.
    "-w",
    # Half of the time to compile, and as fast: the time goes into fibers.
    "-O1",
]

_EMULATOR = "//tests/cuda/emulator:"

def emulated_tests(name, handlers, own = None, deps = []):
    """The emulated_test of an op, and its kernels_test if there is a `name`_kernels_test.cc.

    Args:
      name: of the op, whose kernels and handlers are those of //xla_ffi_ops/ops/`name`.
      handlers: their names.
      own: the classes of the op's own test that run in the emulator; None for the suite of rows.
      deps: what the op's own test imports.
    """
    folder = "xla_ffi_ops/ops/" + name
    cc_library(
        name = "sources",
        testonly = True,
        textual_hdrs = [
            "//{}:{}.cu".format(folder, name),
            "//{}:{}_ffi.cc".format(folder, name),
        ],
        deps = ["//{}:{}.kernel".format(folder, name)],
    )
    cc_library(
        name = "emulated_kernels",
        testonly = True,
        srcs = [_EMULATOR + "op_kernels.cc"],
        copts = ["-std=c++17"] + COPTS,
        local_defines = ['OP_CU=\\"{}/{}.cu\\"'.format(folder, name)],
        deps = [
            _EMULATOR + "emulator",
            "//xla_ffi_ops/rows:cuda_sources",
            ":sources",
        ],
    )
    xla_ffi_library(
        name = "emulated_handlers",
        testonly = True,
        srcs = [_EMULATOR + "op_ffi.cc"],
        copts = COPTS,
        local_defines = ['OP_FFI=\\"{}/{}_ffi.cc\\"'.format(folder, name)],
        deps = [
            ":emulated_kernels",
            ":sources",
        ],
    )
    xla_ffi_extension(
        name = "emulated_ext",
        testonly = True,
        handlers = ["emulated_" + handler for handler in handlers],
        deps = [":emulated_handlers"],
    )
    env = {
        "EMULATED": "$(rootpath :emulated_ext)",
        "OP": name,
    }
    own_test = name + "_test.py"
    if own != None:
        jax_test(
            name = "emulated_test",
            src = _EMULATOR + "emulated_op_test.py",
            args = own,
            data = [
                own_test,
                ":emulated_ext",
            ],
            env = env | {"OWN_TEST": "$(rootpath %s)" % own_test},
            ops = "//python/jax_ffi_ops/ops:" + name,
            tags = ["slow"],
            deps = deps,
        )
    else:
        jax_test(
            name = "emulated_test",
            src = _EMULATOR + "emulated_conformance_test.py",
            data = [":emulated_ext"],
            env = env | THOROUGH,
            ops = "//python/jax_ffi_ops/ops:" + name,
            shard_count = 2,
            tags = ["slow"],
            deps = ["//python/jax_ffi_ops/kit:testing"],
        )
    for src in native.glob([name + "_kernels_test.cc"], allow_empty = True):
        cc_test(
            name = "kernels_test",
            size = "large",
            srcs = [src],
            copts = ["-std=c++17"] + COPTS,
            tags = ["slow"],
            deps = [
                ":emulated_kernels",
                _EMULATOR + "row_kernels",
            ],
        )
