# SPDX-License-Identifier: Apache-2.0
"""Finds programs that run with another Python than their packages are for."""

_TOOLCHAIN = "@rules_python//python:toolchain_type"

# Of rules_python's toolchain that takes whatever is on PATH, in its various versions.
_AUTODETECTING = ["python/runtime_env_toolchains", "tools/python"]

def _python_check_impl(ctx):
    runtime = ctx.toolchains[_TOOLCHAIN].py3_runtime
    interpreter = runtime.interpreter
    if interpreter and interpreter.owner.repo_name == ctx.attr.python.label.repo_name:
        return []
    info = getattr(runtime, "interpreter_version_info", None)
    if info and info.major != None:
        found = "Python {}.{}".format(info.major, info.minor)
    elif interpreter and interpreter.owner.package in _AUTODETECTING:
        found = "the Python of PATH"
    else:
        return []  # One that the user registered knows what it is for.
    if found != "Python " + ctx.attr.version:
        fail("\n".join([
            "The packages of @{} are for Python {}, but programs run with {} ({}).".format(
                ctx.label.repo_name,
                ctx.attr.version,
                found,
                interpreter.short_path if interpreter else runtime.interpreter_path,
            ),
            "Put register_toolchains(\"@xla_ffi_ops//third_party/python:all\") into your " +
            "MODULE.bazel or WORKSPACE, before other Pythons; or have the packages installed for " +
            "the interpreter that programs run with: `interpreter` of choose() or xla_ffi_ops_deps().",
        ]))
    return []

python_check = rule(
    implementation = _python_check_impl,
    attrs = {
        "python": attr.label(
            allow_single_file = True,
            doc = "The python.json of the packages' Python.",
        ),
        "version": attr.string(doc = "The version that the packages are for: 3.11, say."),
    },
    doc = "Fails, in a program's dependencies, if it is to run with another Python.",
    toolchains = [_TOOLCHAIN],
)
