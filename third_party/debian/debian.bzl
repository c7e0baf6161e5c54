# SPDX-License-Identifier: Apache-2.0
"""Unpacks locked Debian packages, with programs that need nothing of the machine but its kernel."""

load("//third_party/python:python.bzl", "watch")

_SNAPSHOTS = "https://snapshot.debian.org/archive/debian/"

_MIRROR = '. "$0"; debian_mirror'

# Where the rule for compilers on Unix is: in Bazel itself, or, once it has left that, in rules_cc.
_TOOLS = Label("@bazel_tools//tools/cpp:BUILD")
_UNIX_CONFIG = "unix_cc_toolchain_config.bzl"

_PROGRAM = """\
#!/bin/sh
# Starts a program with the loader and the libraries that it came with.
root=${{0%/*}}{up}
{environment}
exec "$root/lib64/ld-linux-x86-64.so.2" --argv0 "$0" \\
  --library-path "$root/lib/x86_64-linux-gnu:$root/usr/lib/x86_64-linux-gnu" \\
  "$root/"{command} "$@"
"""

def _mirrors(rctx):
    """Returns a list of the mirror's URL, empty if there is none."""
    mirror = rctx.os.environ.get("XLA_FFI_OPS_DEBIAN_MIRROR")
    if not mirror and rctx.which("apt-get"):
        found = rctx.execute(["bash", "-c", _MIRROR, rctx.path(rctx.attr._apt)])
        mirror = found.stdout.strip()
    return [mirror + "/"] if mirror else []

def _unpack(rctx, lock, folder, mirrors):
    """Unpacks what a lock names."""
    watch(rctx, lock)
    _, snapshot, packages = rctx.read(lock).split("\n", 2)
    archives = mirrors + [_SNAPSHOTS + snapshot.removeprefix("snapshot ") + "/"]
    for line in packages.splitlines():
        sha256, path = line.split(" ")
        rctx.report_progress("Fetching " + path)
        rctx.download_and_extract(
            [archive + path.replace("+", "%2B") for archive in archives],
            output = "_package",
            sha256 = sha256,
            type = "deb",
        )
        rctx.extract("_package/data.tar.xz", output = folder)
        rctx.delete("_package")

        # Documents: some have names that Bazel refuses.
        rctx.delete(folder + "/usr/share")

def _debian_packages_impl(rctx):
    mirrors = _mirrors(rctx)
    for lock, folder in rctx.attr.locks.items():
        _unpack(rctx, lock, folder or ".", mirrors)
    for name, command in rctx.attr.programs.items():
        rctx.file(name, _PROGRAM.format(
            command = command,
            environment = "\n".join([
                'export {}="{}"'.format(variable, value)
                for variable, value in rctx.attr.environment.items()
            ]),
            up = "/.." * name.count("/"),
        ))

    # In a sandbox, ld does not see that a script is below its sysroot.
    for script in rctx.attr.linker_scripts:
        rctx.file(script, rctx.read(script).replace(" /", " =/"), executable = False)
    build = rctx.read(rctx.attr.build_file)
    config = rctx.path(_TOOLS).dirname.get_child(_UNIX_CONFIG)
    watch(rctx, config)
    if not config.exists:
        build = build.replace("@bazel_tools//tools/cpp:", "@rules_cc//cc/private/toolchain:")
    rctx.file("BUILD.bazel", build, executable = False)

debian_packages = repository_rule(
    implementation = _debian_packages_impl,
    attrs = {
        "build_file": attr.label(mandatory = True),
        "linker_scripts": attr.string_list(doc = "Linker scripts that are below a sysroot."),
        "locks": attr.label_keyed_string_dict(
            mandatory = True,
            doc = "What `//third_party/debian:update` has locked, and the folder for it.",
        ),
        "environment": attr.string_dict(
            doc = "Variables for the programs; $root is the folder of this repository.",
        ),
        "programs": attr.string_dict(
            doc = "Programs to make: what each starts, and options for it, as a shell reads them.",
        ),
        "_apt": attr.label(default = "//third_party/debian:apt.sh"),
    },
    environ = ["XLA_FFI_OPS_DEBIAN_MIRROR"],
    doc = """Files of Debian packages, checked by hash.

They come from the mirror that XLA_FFI_OPS_DEBIAN_MIRROR names, else from that of the machine's apt.
A mirror drops a file when a newer one comes: then they come from the archive of snapshots.""",
)

_GCC = "usr/lib/gcc/x86_64-linux-gnu/12/"

_CXX_HEADERS = [
    "$root/sysroot/usr/include/c++/10",
    "$root/sysroot/usr/include/x86_64-linux-gnu/c++/10",
]

# By -nostdinc: GCC makes absolute paths of those that it knows itself.
_HEADERS = [
    "$root/" + _GCC + "include",
    "$root/sysroot/usr/include/x86_64-linux-gnu",
    "$root/sysroot/usr/include",
]

# What nvcc calls has to know all that it needs.
_COMPILE = " ".join([
    "usr/bin/x86_64-linux-gnu-gcc-12",
    '--sysroot="$root/sysroot"',
    '-B"$root/bin"',
    "-nostdinc",
    "-no-canonical-prefixes",
    "-fno-canonical-system-headers",
    "-fno-use-linker-plugin",
])

def hermetic_tools(skip = []):
    """Declares the repositories of --config=hermetic.

    Args:
      skip: names not to declare.
    """
    if "xla_ffi_ops_gcc" not in skip:
        debian_packages(
            name = "xla_ffi_ops_gcc",
            build_file = Label(":gcc.BUILD"),
            environment = {
                "CPLUS_INCLUDE_PATH": ":".join(_CXX_HEADERS + _HEADERS),
                "C_INCLUDE_PATH": ":".join(_HEADERS),
                "GCC_EXEC_PREFIX": "$root/usr/lib/gcc/",
                "LIBRARY_PATH": "$root/sysroot/usr/lib/gcc/x86_64-linux-gnu/10",
            },
            linker_scripts = [
                "sysroot/usr/lib/x86_64-linux-gnu/" + name
                for name in ["libc.so", "libm.a", "libm.so"]
            ],
            locks = {Label(":gcc.lock"): "", Label(":sysroot.lock"): "sysroot"},
            programs = {
                "bin/gcc": _COMPILE,
                "bin/gcov": "usr/bin/x86_64-linux-gnu-gcov-12",
            } | {
                "bin/" + name: _GCC + name
                for name in ["cc1", "cc1plus", "collect2"]
            } | {
                "bin/" + name: "usr/bin/x86_64-linux-gnu-" + name
                for name in ["ar", "as", "dwp", "ld", "nm", "objcopy", "objdump", "strip"]
            },
        )
    if "xla_ffi_ops_debian_python" not in skip:
        debian_packages(
            name = "xla_ffi_ops_debian_python",
            build_file = Label(":python.BUILD"),
            locks = {Label(":python.lock"): ""},
            programs = {"usr/bin/python3": "usr/bin/python3.11"},
        )
