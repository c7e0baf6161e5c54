# SPDX-License-Identifier: Apache-2.0
"""The runtime of compiled loops as a shared object, for a process that compiles."""

load("@rules_cc//cc:defs.bzl", "cc_binary")
load("//xla_ffi_ops:options.bzl", "all_defined")
load("//xla_ffi_ops/private:version_script.bzl", "version_script")

def loops_runtime(name):
    """Makes `name`.so, which exports the function that compiled loops call.

    Args:
      name: of the object, in the package of the Python that loads it.
    """
    script = name + ".lds"
    version_script(
        name = script,
        symbols = ["xla_ffi_ops_loops_call"],
    )
    cc_binary(
        name = name + ".so",
        additional_linker_inputs = [script],
        linkopts = [
            "-Wl,--undefined=xla_ffi_ops_loops_call",
            "-Wl,--version-script=$(location {})".format(script),
        ] + all_defined(),
        linkshared = True,
        linkstatic = True,
        deps = ["//xla_ffi_ops:loops"],
    )
