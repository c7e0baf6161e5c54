# SPDX-License-Identifier: Apache-2.0
"""Runs Sphinx: `build.py FOLDER SOURCE ...`, where sources have their paths."""

import pathlib
import re
import sys
import tempfile

from sphinx.cmd import build

_HERE = pathlib.Path(__file__).parent
_INDEX = (
    '<!doctype html><meta charset="utf-8"><title>xla_ffi_ops</title>'
    '<meta http-equiv="refresh" content="0; url=docs/index.html">\n'
)
_CODE_OR_LINK = re.compile(
    r"(?P<code>^(`{3,})[^`\n]*\n.*?^\2$|`[^`\n]+`)"
    r"|(?P<picture>!?)\[(?P<text>[^\]]+)\]\((?P<target>[^)\s]+)\)",
    re.DOTALL | re.MULTILINE,
)


def for_site(text: str, page: str, pages: set[str]) -> str:
  """Returns a document with links to pages alone.

  A file of the repository that is no page is named by its path. A folder is
  the page README.md in it, if there is one. A page that is named by its file
  is named by its title.

  Args:
    text: Markdown.
    page: the path of the document.
    pages: the paths of all that the site has.
  """

  def replace(found):
    target = found["target"]
    if found["code"] or found["picture"] or re.match(r"#|\w+:", target):
      return found[0]
    path, mark, anchor = target.partition("#")
    path = _normal(pathlib.PurePosixPath(page).parent / path)
    readme = f"{path}/README.md"
    if path in pages:
      # A page has a title, where a file has a name.
      is_title = not mark and found["text"] == path.rpartition("/")[2]
      return f"[]({target})" if is_title else found[0]
    if readme in pages:
      return f"[{found['text']}](/{readme}{mark}{anchor})"
    named = found["text"].strip("`")
    is_name = path.endswith(named.rstrip("/"))
    return f"`{path}`" if is_name else f"{found['text']} (`{path}`)"

  return _CODE_OR_LINK.sub(replace, text)


def _normal(path):
  parts = []
  for part in path.parts:
    if part == "..":
      parts.pop()
    else:
      parts.append(part)
  return "/".join(parts)


def main() -> int:
  output, *sources = sys.argv[1:]
  # Headers are shown on a page, and are none.
  pages = {name for name in sources if name.endswith((".md", ".svg"))}
  with tempfile.TemporaryDirectory() as scratch:
    tree = pathlib.Path(scratch, "tree")
    for name in sources:
      (tree / name).parent.mkdir(parents=True, exist_ok=True)
      content = pathlib.Path(name).read_bytes()
      if name.endswith(".md"):
        text = for_site(content.decode(), name, pages)
        content = text.encode()
      (tree / name).write_bytes(content)
    options = ["-b", "html", "-W", "--keep-going", "-n", "-q", "-E"]
    options += ["-d", f"{scratch}/doctrees", "-c", str(_HERE)]
    status = build.main([*options, str(tree), output])
  pathlib.Path(output, "index.html").write_text(_INDEX, "utf-8")
  return status


if __name__ == "__main__":
  sys.exit(main())
