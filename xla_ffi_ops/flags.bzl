# SPDX-License-Identifier: Apache-2.0
"""Rules for the flags //:cuda and //:cuda_architectures."""

CudaArchitecturesInfo = provider(
    "GPU architectures to compile for.",
    fields = {"names": "sm_* for machine code, compute_* for PTX; a list of strings"},
)

bool_flag = rule(
    implementation = lambda ctx: [],
    build_setting = config.bool(flag = True),
    doc = "A flag that only config_settings read.",
)

def _cuda_architectures_impl(ctx):
    names = ctx.build_setting_value
    for name in names:
        kind, _, version = name.partition("_")
        if version[-1:] in ("a", "f"):  # of code for just that GPU, or its family
            version = version[:-1]
        if kind not in ("sm", "compute") or not version.isdigit():
            fail("{}: want sm_NN or compute_NN, got '{}'".format(ctx.label, name))
    if not names:
        fail("{}: want at least one architecture".format(ctx.label))
    return [
        CudaArchitecturesInfo(names = names),
        platform_common.TemplateVariableInfo({"CUDA_ARCHITECTURES": " ".join(names)}),
    ]

cuda_architectures = rule(
    implementation = _cuda_architectures_impl,
    build_setting = config.string_list(flag = True),
    doc = "Names of nvcc, separated by commas: sm_90 is machine code for that GPU, compute_90 is " +
          "PTX, which the driver compiles for that GPU and later ones. As one of a target's " +
          "`toolchains` it makes $(CUDA_ARCHITECTURES) of them.",
)
