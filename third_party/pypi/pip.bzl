# SPDX-License-Identifier: Apache-2.0
"""Runs pip inside repository rules, with the user's own pip configuration."""

# Python compiles sets of strings in the order of their hashes, so the seed is fixed. The user's
# variables for Python are removed. Those for pip remain.
_ENVIRONMENT = {
    "PIP_REQUIRE_VIRTUALENV": "0",
    "PYTHONHASHSEED": "0",
    "PYTHONHOME": "",
    "PYTHONPATH": "",
    "PYTHONSAFEPATH": "",
}

# A large wheel over a slow line takes longer than Bazel's default of 600 s.
_TIMEOUT_S = 7200

def python_with_pip(rctx, python):
    """Returns an interpreter that has pip: `python` itself or a scratch venv of it.

    Args:
      rctx: the repository context; the venv is made in its folder `_pip`.
      python: path of the interpreter.

    Returns:
      The path as a string. Delete `_pip` when done.
    """
    if rctx.execute([python, "-sE", "-m", "pip", "--version"]).return_code == 0:
        return python
    venv = rctx.path("_pip")
    if rctx.execute([python, "-sE", "-m", "venv", str(venv)]).return_code:
        fail(("{} has neither pip nor a complete venv module (on Debian: apt install " +
              "python3-venv), and locked packages are installed with one of them.").format(python))
    return str(venv.get_child("bin", "python"))

def run_python(rctx, arguments, doing):
    """Runs a Python program that calls pip; if it fails, fails with its output.

    Args:
      rctx: the repository context.
      arguments: the command line, interpreter first.
      doing: text of the progress line and of the error, such as "Installing a lock".
    """
    rctx.report_progress(doing)
    result = rctx.execute(arguments, timeout = _TIMEOUT_S, environment = _ENVIRONMENT)
    if result.return_code:
        fail("{} failed:\n{}{}".format(doing, result.stdout, result.stderr))
