# SPDX-License-Identifier: Apache-2.0
"""A rule that makes a wheel of Python libraries and their shared objects."""

load("@rules_cc//cc:defs.bzl", "cc_common")
load("@rules_cc//cc:find_cc_toolchain.bzl", "find_cc_toolchain", "use_cc_toolchain")

def _name_in_wheel(ctx, file):
    """Returns the path of a file below this package, or None if it is elsewhere."""
    if file.owner.workspace_name != ctx.label.workspace_name:
        return None
    path = file.short_path
    if path.startswith("../"):  # then the name of this repository
        path = path.split("/", 2)[2]
    package = ctx.label.package + "/" if ctx.label.package else ""
    return path.removeprefix(package) if path.startswith(package) else None

def _strip(ctx, name, file):
    """Returns a shared object without the symbols that a program cannot use."""
    toolchain = find_cc_toolchain(ctx)
    features = cc_common.configure_features(ctx = ctx, cc_toolchain = toolchain)
    stripped = ctx.actions.declare_file("{}.stripped/{}".format(ctx.label.name, name))
    ctx.actions.run(
        executable = cc_common.get_tool_for_action(
            feature_configuration = features,
            action_name = "strip",
        ),
        arguments = ["--strip-unneeded", "-o", stripped.path, file.path],
        inputs = [file],
        tools = toolchain.all_files,
        outputs = [stripped],
        mnemonic = "StripForWheel",
    )
    return stripped

def _wheel_impl(ctx):
    files = {}
    for file in depset(transitive = [
        dep[DefaultInfo].default_runfiles.files
        for dep in ctx.attr.deps
    ]).to_list():
        name = _name_in_wheel(ctx, file)
        if name != None:
            files[name] = _strip(ctx, name, file) if name.endswith(".so") else file
    licenses = {"LICENSE": ctx.file.license}
    for target, name in ctx.attr.other_licenses.items():
        licenses[name] = target.files.to_list()[0]
    version = "+".join([ctx.attr.version] + ([ctx.attr.variant] if ctx.attr.variant else []))
    file_name = "{}-{}".format(ctx.attr.distribution.replace("-", "_"), version)
    tag = "py3-none-manylinux_{}_x86_64".format(ctx.attr.glibc.replace(".", "_"))
    plan = ctx.actions.declare_file(ctx.label.name + ".json")
    ctx.actions.write(plan, json.encode_indent(dict(
        {
            name: getattr(ctx.attr, name)
            for name in [
                "classifiers",
                "distribution",
                "extras",
                "glibc",
                "license_expression",
                "object_kb",
                "requires",
                "requires_python",
                "summary",
                "wheel_kb",
            ]
        },
        file_name = file_name,
        files = {name: file.path for name, file in files.items()},
        label = str(ctx.label),
        licenses = {name: file.path for name, file in licenses.items()},
        readme = ctx.file.readme.path,
        tag = tag,
        version = version,
    )))
    wheel = ctx.actions.declare_file("{}-{}.whl".format(file_name, tag))
    ctx.actions.run(
        executable = ctx.executable._program,
        arguments = [plan.path, wheel.path],
        inputs = files.values() + licenses.values() + [plan, ctx.file.readme],
        outputs = [wheel],
        mnemonic = "Wheel",
        progress_message = "Making " + wheel.basename,
    )
    return [DefaultInfo(files = depset([wheel]), runfiles = ctx.runfiles([wheel]))]

wheel = rule(
    implementation = _wheel_impl,
    attrs = {
        "classifiers": attr.string_list(doc = "Classifiers of PyPI."),
        "deps": attr.label_list(
            mandatory = True,
            doc = "Libraries. The wheel contains their files that are below the package of " +
                  "this target. Paths in the wheel begin at this package.",
        ),
        "distribution": attr.string(mandatory = True, doc = "The name for pip, such as my-ops."),
        "extras": attr.string_list_dict(doc = "For each extra, the distributions that it needs besides."),
        "glibc": attr.string(
            mandatory = True,
            doc = "The oldest glibc that it runs with. An object that needs a newer one is an error.",
        ),
        "license": attr.label(mandatory = True, allow_single_file = True, doc = "The text of the license."),
        "license_expression": attr.string(mandatory = True, doc = "The license, as an SPDX expression."),
        "object_kb": attr.int(mandatory = True, doc = "The largest compressed size of an object, in kB."),
        "other_licenses": attr.label_keyed_string_dict(
            allow_files = True,
            doc = "Licenses of libraries in the objects: from each text to its file name in the wheel.",
        ),
        "readme": attr.label(
            mandatory = True,
            allow_single_file = True,
            doc = "The long description, in Markdown. Links to other files become plain text.",
        ),
        "requires": attr.string_list(doc = "Distributions that it needs."),
        "requires_python": attr.string(mandatory = True, doc = "Supported Pythons, such as >=3.11."),
        "summary": attr.string(mandatory = True, doc = "A description of one line."),
        "variant": attr.string(doc = "The end of the version, after a plus sign."),
        "version": attr.string(mandatory = True, doc = "A version of PEP 440."),
        "wheel_kb": attr.int(mandatory = True, doc = "The largest size of the wheel, in kB."),
        "_program": attr.label(
            default = "//tools/wheel:write_wheel",
            cfg = "exec",
            executable = True,
        ),
    },
    fragments = ["cpp"],
    toolchains = use_cc_toolchain(),
    doc = "Makes a wheel for Linux on x86-64 and any Python: objects may not use Python's C API.",
)
