# SPDX-License-Identifier: Apache-2.0
"""Sphinx's settings for the documentation site."""

import pathlib
import re

import cpp_header
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

import jax_ffi_ops

# Docstrings are read without the shared objects.
for _name in dir(jax_ffi_ops):
  getattr(jax_ffi_ops, _name)

project = "xla_ffi_ops"
root_doc = "docs/index"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 4
html_theme = "furo"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_title = "xla_ffi_ops"
html_domain_indices = False
html_use_index = False
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
pygments_style = "default"
pygments_dark_style = "github-dark"
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autoclass_content = "both"
napoleon_use_ivar = True
python_maximum_signature_line_length = 80
# Types of Python and of jax have no page here.
nitpick_ignore_regex = [("py:.*", ".*")]
# In docstrings, as in Markdown, `this` is code.
default_role = "code"

_CODE = re.compile(r"(?<=\n\n)((?:  .*\n|\n(?=  ))+)")
_SECTION = re.compile(r"(?m)^(?=(?:Args|Attributes|Returns|Raises):$)")
_STAR = re.compile(r"(?m)(`[^`\n]*`|^ +\*+\w+:)|\*")


def _as_rst(app, what, name, obj, options, lines):
  """Marks what is indented in the text of a docstring as code."""
  del app, what, name, obj, options
  text, *sections = _SECTION.split("\n".join(lines) + "\n")
  parts = _CODE.split(text)
  parts[::2] = map(_escape, parts[::2])
  parts[1::2] = (f".. code-block:: python\n\n{x}\n" for x in parts[1::2])
  lines[:] = "".join(parts + list(map(_escape, sections))).splitlines()


def _escape(text):
  return _STAR.sub(lambda found: found[1] or r"\*", text)


class _Header(SphinxDirective):
  """Shows the public part of a C++ header, which its path names."""

  required_arguments = 1

  def run(self):
    path = pathlib.Path(self.env.srcdir, self.arguments[0])
    text = cpp_header.public(path.read_text("utf-8"))
    return [nodes.literal_block(text, text, language="cpp")]


def setup(app):
  app.add_directive("header", _Header)
  # Before napoleon, which reads the sections.
  app.connect("autodoc-process-docstring", _as_rst, priority=100)
