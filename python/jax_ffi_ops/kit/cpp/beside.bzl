# SPDX-License-Identifier: Apache-2.0
"""A rule that puts headers and objects of C++ libraries beside Python sources."""

load("@rules_cc//cc:defs.bzl", "CcInfo", "cc_common")
load("@rules_cc//cc:find_cc_toolchain.bzl", "find_cc_toolchain", "use_cc_toolchain")

def _own(ctx, file):
    return file.owner.workspace_name == ctx.label.workspace_name

def _headers(ctx, info):
    """Returns links to this repository's headers for the CPU, below include/."""
    links = []
    for file in info.compilation_context.headers.to_list():
        if _own(ctx, file) and file.extension == "h":
            path = file.short_path
            if path.startswith("../"):  # then the name of this repository
                path = path.split("/", 2)[2]
            link = ctx.actions.declare_file("include/" + path)
            ctx.actions.symlink(output = link, target_file = file)
            links.append(link)
    return links

def _archive(ctx, info):
    """Returns an archive of all objects of this repository."""
    toolchain = find_cc_toolchain(ctx)
    features = cc_common.configure_features(ctx = ctx, cc_toolchain = toolchain)
    objects = [
        file
        for linked in info.linking_context.linker_inputs.to_list()
        for library in linked.libraries
        for file in library.pic_objects or []
        if _own(ctx, file)
    ]
    archive = ctx.actions.declare_file(ctx.attr.archive)
    ctx.actions.run(
        executable = cc_common.get_tool_for_action(
            feature_configuration = features,
            action_name = "c++-link-static-library",
        ),
        # D: the same bytes at any time.
        arguments = ["qcsD", archive.path] + [file.path for file in objects],
        inputs = objects,
        tools = toolchain.all_files,
        outputs = [archive],
        mnemonic = "ArchiveForPython",
    )
    return archive

def _headers_and_archive_impl(ctx):
    info = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps])
    files = depset(_headers(ctx, info) + [_archive(ctx, info)])
    return [DefaultInfo(files = files, runfiles = ctx.runfiles(transitive_files = files))]

headers_and_archive = rule(
    implementation = _headers_and_archive_impl,
    attrs = {
        "archive": attr.string(mandatory = True, doc = "The name of the file."),
        "deps": attr.label_list(mandatory = True, providers = [CcInfo]),
    },
    doc = "Headers and objects of C++ libraries of this repository, for a compiler at run time.",
    fragments = ["cpp"],
    toolchains = use_cc_toolchain(),
)
