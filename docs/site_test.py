# SPDX-License-Identifier: Apache-2.0
"""The site's links hold, its search finds words, and nothing is fetched."""

from html import parser
import os
import pathlib
import re
import urllib.parse

from absl.testing import absltest
from absl.testing import parameterized
import build
import cpp_header

_SITE = pathlib.Path(os.path.abspath(__file__)).with_name("site")
# `import x as x`, and what a package defines itself.
_PUBLIC = re.compile(r"(?m)(?:\b(\w+) as \1\b|^(?:def|class) ([a-zA-Z]\w*))")


class _Page(parser.HTMLParser):
  """The identifiers of a page, and what it links to or loads."""

  def __init__(self, path):
    super().__init__()
    self.ids, self.links, self.loaded = set(), [], []
    self.feed(path.read_text("utf-8"))

  def handle_starttag(self, tag, attrs):
    found = dict(attrs)
    self.ids |= {found[name] for name in ("id", "name") if found.get(name)}
    if tag == "a" and "href" in found:
      self.links.append(found["href"])
    elif tag in ("img", "link", "script", "iframe", "object"):
      target = found.get("src") or found.get("href") or found.get("data")
      self.loaded += [target] * bool(target)


class SiteTest(parameterized.TestCase):

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    paths = [p for p in _SITE.rglob("*.html") if "_static" not in p.parts]
    cls.pages = {path: _Page(path) for path in paths}

  def test_links(self):
    self.assertGreater(len(self.pages), 40)
    for path, page in self.pages.items():
      with self.subTest(path.relative_to(_SITE)):
        links = page.links + page.loaded
        self.assertEmpty([x for x in links if not self._leads_there(path, x)])

  def _leads_there(self, path, link):
    url = urllib.parse.urlsplit(link)
    if url.scheme:
      return True
    target = path
    if url.path:
      linked = path.parent / urllib.parse.unquote(url.path)
      target = pathlib.Path(os.path.normpath(linked))
    if not url.fragment or target not in self.pages:
      return target.exists()
    return urllib.parse.unquote(url.fragment) in self.pages[target].ids

  def test_nothing_is_fetched(self):
    for path, page in self.pages.items():
      for target in page.loaded:
        self.assertNotRegex(target, r"^(https?:)?//", path)

  @parameterized.parameters("", "/kit", "/kit/testing", "/linalg", "/random")
  def test_api_has_all_that_is_public(self, package):
    ids = self.pages[_SITE / "docs/api_python.html"].ids
    path = f"jax_ffi_ops{package}"
    text = pathlib.Path("python", path, "__init__.py").read_text("utf-8")
    names = {"".join(found) for found in _PUBLIC.findall(text)}
    names -= {"kit", "linalg", "random"}  # They have functions of their own.
    self.assertNotEmpty(names)
    module = path.replace("/", ".")
    missing = {f"{module}.{name}" for name in names} - ids
    self.assertEmpty(missing, "docs/api_python.md has each name")

  def test_api_has_the_headers_of_handlers(self):
    page = pathlib.Path("docs/api_cpp.md").read_text("utf-8")
    shown = re.findall(r"{header} (\S+)", page)
    included = pathlib.Path("xla_ffi_ops/ffi.h").read_text("utf-8")
    self.assertContainsSubset(re.findall(r'#include "(\S+)"', included), shown)
    html = (_SITE / "docs/api_cpp.html").read_text("utf-8")
    code = re.sub(
        "<[^>]*>", "", "".join(re.findall("(?s)<pre>.*?</pre>", html))
    )
    for names in re.findall(r"(?m)^\| [^|`]+ \| (.*?) \|", page):
      for name in re.findall(r"`(\w+)`", names):
        with self.subTest(name):
          declared = rf"(class|struct|using|define|auto|[\w>*] ?) {name}\b"
          self.assertRegex(code, declared)

  @parameterized.parameters(
      ("// A\n#define A_H_\nclass A {\n public:\n  int f() {\n    return 1;\n"
       "  }\n\n private:\n  int b;\n};\n",
       "// A\n\nclass A {\n public:\n  int f();\n};\n"),
      ("namespace xla_ffi_ops {\nnamespace internal {\nvoid F() {\n}\n"
       "}  // namespace internal\n\n// G.\nint G() {\n  if (a) {\n  }\n}\n\n"
       "int h;\n}  // namespace xla_ffi_ops\n",
       "// G.\nint G();\n\nint h;\n"),
      ("// M.\n#define XLA_FFI_OPS_M(a, ...) \\\n  f(a)\n#define "
       "XLA_FFI_OPS_M_(a)\n#endif\n",
       "// M.\n#define XLA_FFI_OPS_M(a, ...)\n"),
      ("// F([] {\n//   g();\nint a = {};\n", "// F([] {\n//   g();\nint a = {};\n"),
  )  # fmt: skip
  def test_public_part_of_a_header(self, text, expected):
    self.assertEqual(cpp_header.public(text), expected)

  @parameterized.parameters("vmap", "segfault", "undefined symbol", "hermetic")
  def test_search_finds(self, words):
    index = (_SITE / "searchindex.js").read_text("utf-8")
    terms = index.partition('"terms":')[2]
    for word in words.split():
      # Sphinx keeps the stems of words.
      found = re.search(rf'[{{,]"?{word[:6]}\w*"?:', terms)
      self.assertIsNotNone(found, word)

  @parameterized.parameters(
      ("[a](b.md#c)", "[a](b.md#c)"),
      ("[b.md](b.md)", "[](b.md)"),
      ("[a](https://b)", "[a](https://b)"),
      ("[a](#b)", "[a](#b)"),
      ("[d.cc](../c/d.cc)", "`c/d.cc`"),
      ("[`c/d.cc`](../c/d.cc#L1)", "`c/d.cc`"),
      ("[it](../c/d.cc)", "it (`c/d.cc`)"),
      ("[it](../e)", "[it](/e/README.md)"),
      ("![it](../c/d.svg)", "![it](../c/d.svg)"),
      ("`[it](../c)`", "`[it](../c)`"),
      ("```c\n[it](x)\n```", "```c\n[it](x)\n```"),
  )
  def test_link_of_a_page(self, text, expected):
    pages = {"docs/b.md", "e/README.md"}
    self.assertEqual(build.for_site(text, "docs/a.md", pages), expected)


if __name__ == "__main__":
  absltest.main()
