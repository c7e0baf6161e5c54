# SPDX-License-Identifier: Apache-2.0
"""Finds the machine's Python, and hands it to tests and to the rules that install packages."""

load("//third_party/debian:python.bzl", "INTERPRETER", "hermetic_runtime")

_MINIMUM = (3, 11)

# In a virtual environment, it prints the base Python: environments come and go.
_PROBE = """
import json, sys, sysconfig
path = getattr(sys, "_base_executable", None) or sys.executable
version = "%d.%d.%d" % sys.version_info[:3]
headers = sysconfig.get_path("include")
print(json.dumps({"headers": headers, "path": path, "version": version}))
"""

_BUILD = """\
# SPDX-License-Identifier: Apache-2.0
\"\"\"The interpreter that local_python found, as a Python toolchain.\"\"\"

load("@rules_cc//cc:defs.bzl", "cc_library")
load("@rules_python//python:defs.bzl", "py_runtime", "py_runtime_pair")
load(":toolchains.bzl", "toolchains")

package(default_visibility = ["//visibility:public"])

exports_files(["python.json"])

py_runtime(
    name = "runtime",
    files = {files},
    interpreter = "{interpreter}",
    python_version = "PY3",
    stub_shebang = {stub_shebang},
)

py_runtime_pair(
    name = "runtime_pair",
    py3_runtime = ":runtime",
)

toolchains()

{headers}"""

# Empty where the machine has none (Debian: python3-dev).
_HEADERS = """\
cc_library(
    name = "headers",
    hdrs = glob(["include/**/*.h"], allow_empty = True),
    includes = ["include"],
    target_compatible_with = {},
)
"""

# Toolchains for packages that do not see this repository, too.
_TOOLCHAINS = """\
# SPDX-License-Identifier: Apache-2.0
\"\"\"Declares the toolchains of this repository in any package.\"\"\"

def toolchains():
    for target, type in {types}.items():
        native.toolchain(
            name = target + "_toolchain",
            toolchain = Label(":" + target),
            toolchain_type = Label("@rules_python//python:" + type),
        )
"""

# Newer rules_python also look for a Python for actions. Without this toolchain, they fetch one.
_EXEC_TOOLS_BUILD = """\

load("@rules_python//python:py_exec_tools_toolchain.bzl", "py_exec_tools_toolchain")

py_exec_tools_toolchain(name = "exec_tools")
"""

# This file makes the folder above a link to Python a virtual environment. So tests do not see the
# machine's own site-packages, such as plugins of another jax.
_PYVENV = """\
home = {home}
include-system-site-packages = false
version = {version}
"""

_RULES = Label("@rules_python//python:defs.bzl")

# The kernel cuts a longer first line off.
_LONGEST_SHEBANG = 127

_HOW_TO_CHOOSE = ("choose another with --repo_env=XLA_FFI_OPS_PYTHON=<a name on PATH, " +
                  "an absolute path, or `hermetic`>.")

def watch(rctx, path):
    """Makes a repository rule run again when a file changes. From Bazel 8 on, rctx.path does not.

    Args:
      rctx: the repository context.
      path: the file, as a label, a path or a string; it may be missing.
    """
    if hasattr(rctx, "watch"):
        rctx.watch(path)

def _probe(rctx, program, said):
    """Asks a Python for its version and real path. `said` is its name in error messages."""
    result = rctx.execute([program, "-I", "-c", _PROBE])
    if result.return_code:
        lines = (result.stderr.strip() or "no output").splitlines()
        fail("{} does not run as a Python 3 ({}); {}".format(said, lines[0], _HOW_TO_CHOOSE))
    found = json.decode(result.stdout)
    version = tuple([int(part) for part in found["version"].split(".")])
    if version < _MINIMUM:
        fail("{} is Python {} at {}, but xla_ffi_ops needs {}.{} or newer; {}".format(
            said,
            found["version"],
            found["path"],
            _MINIMUM[0],
            _MINIMUM[1],
            _HOW_TO_CHOOSE,
        ))
    return struct(**found)

def _choose(rctx):
    """Returns a program, its name in error messages, and whether it is the locked Python."""
    if rctx.attr.interpreter:
        said = "interpreter = " + str(rctx.attr.interpreter)
        return rctx.path(rctx.attr.interpreter), said, False
    name = rctx.os.environ.get("XLA_FFI_OPS_PYTHON") or rctx.attr.python
    said = "`{}`".format(name)
    if name == "hermetic":
        return rctx.path(INTERPRETER), said, True
    if "/" in name:
        program = name if name.startswith("/") and rctx.path(name).exists else None
    else:
        program = rctx.which(name)
    if not program:
        fail("There is no Python {}; {}".format(said, _HOW_TO_CHOOSE))
    return program, said, False

def _runtime(rctx, found):
    """Makes a link to a Python of the machine. Returns a struct as hermetic_runtime does."""
    shebang = "#!" + found.path
    if " " in shebang or len(shebang) > _LONGEST_SHEBANG:
        shebang = "#!/usr/bin/env python3"
    rctx.symlink(found.path, "venv/bin/python3")
    rctx.file("venv/pyvenv.cfg", _PYVENV.format(
        home = rctx.path(found.path).dirname,
        version = found.version,
    ), executable = False)
    headers = rctx.path(found.headers)
    has_headers = headers.get_child("Python.h").exists
    if has_headers:
        rctx.symlink(headers, "include")
    return struct(
        files = ["venv/pyvenv.cfg"],
        headers = _HEADERS.format([] if has_headers else ["@platforms//:incompatible"]),
        interpreter = "venv/bin/python3",
        stub_shebang = shebang,
    )

def _local_python_impl(rctx):
    program, said, hermetic = _choose(rctx)
    found = _probe(rctx, program, said)
    watch(rctx, found.path)  # An upgrade in place leaves PATH as it was.
    runtime = hermetic_runtime() if hermetic else _runtime(rctx, found)
    rctx.file("python.json", json.encode(found) + "\n", executable = False)
    exec_tools = rctx.path(_RULES).dirname.get_child("py_exec_tools_toolchain.bzl")
    watch(rctx, exec_tools)
    rctx.file("BUILD.bazel", _BUILD.format(
        files = runtime.files,
        headers = runtime.headers,
        interpreter = runtime.interpreter,
        stub_shebang = repr(runtime.stub_shebang),
    ) + (_EXEC_TOOLS_BUILD if exec_tools.exists else ""), executable = False)
    types = {"runtime_pair": "toolchain_type"}
    if exec_tools.exists:
        types["exec_tools"] = "exec_tools_toolchain_type"
    rctx.file("toolchains.bzl", _TOOLCHAINS.format(types = repr(types)), executable = False)

local_python = repository_rule(
    implementation = _local_python_impl,
    attrs = {
        "interpreter": attr.label(
            allow_single_file = True,
            doc = "Interpreter of a hermetic toolchain. The rule then searches for no other.",
        ),
        "python": attr.string(
            default = "python3",
            doc = "A name on PATH, a path, or `hermetic`: the locked Python of " +
                  "//third_party/debian. The environment's XLA_FFI_OPS_PYTHON overrides it.",
        ),
    },
    environ = ["PATH", "PYENV_VERSION", "XLA_FFI_OPS_PYTHON"],
    doc = """Finds a Python, 3.11 or newer, and its absolute path.

Makes `:all`, the toolchains to register; `:headers`, Python's C headers, which are
incompatible if Python has none; and `python.json`, which `python_of` reads. Rules
that depend on this file run again when the path or the version of Python changes,
but not when only PATH changes.""",
)

PYTHON_ATTRS = {
    "interpreter": attr.label(
        allow_single_file = True,
        doc = "Interpreter of a hermetic toolchain, in place of `python`.",
    ),
    "python": attr.label(
        default = "@xla_ffi_ops_python//:python.json",
        allow_single_file = True,
        doc = "The python.json of a local_python.",
    ),
}

def python_of(rctx):
    """Returns the interpreter of a repository rule that has PYTHON_ATTRS.

    Args:
      rctx: the repository context.

    Returns:
      A struct of path and version, both strings.
    """
    if rctx.attr.interpreter:
        said = "interpreter = " + str(rctx.attr.interpreter)
        watch(rctx, rctx.attr.interpreter)
        return _probe(rctx, rctx.path(rctx.attr.interpreter), said)
    found = json.decode(rctx.read(rctx.path(rctx.attr.python)))
    return struct(path = found["path"], version = found["version"])
