# SPDX-License-Identifier: Apache-2.0
"""What the Python of XLA_FFI_OPS_PYTHON=hermetic needs in a BUILD file."""

INTERPRETER = Label("@xla_ffi_ops_debian_python//:usr/bin/python3")

_HEADERS = """\
alias(
    name = "headers",
    actual = "{}",
)
"""

# A shell reads the first lines and starts Python, which takes them for a string. A program has the
# interpreter in its runfiles, or is in those of another.
_SHEBANG = """\
#!/bin/sh
''':'
for runfiles in "$0.runfiles" "${{0%.runfiles/*}}.runfiles" "$RUNFILES_DIR"; do
  python=$runfiles/{}/usr/bin/python3
  [ ! -x "$python" ] || exec "$python" "$0" "$@"
done
echo "$0: there is no Python in its runfiles" >&2
exit 1
'''"""

def hermetic_runtime():
    """Returns a struct of attributes for py_runtime, and the text of a target `headers`."""
    return struct(
        files = [str(INTERPRETER.same_package_label("files"))],
        headers = _HEADERS.format(INTERPRETER.same_package_label("headers")),
        interpreter = str(INTERPRETER),
        stub_shebang = _SHEBANG.format(INTERPRETER.workspace_name),
    )
