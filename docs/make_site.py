"""Builds the site in `site/`, from `docs/`, `README.md`, `specs/`, `sample_data/` and `explain`.

`python docs/make_site.py [FOLDER]` needs the extra `site`, and no network. A browser opens
`site/index.html` as a file, and searches it.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from make_gallery import CSS, gallery, styles

from dpcli.cli.commands import help_prose
from dpcli.cli.explain import pages
from dpcli.problems.reference import Page, synonyms

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"

TOP = {
    "README.md": "index.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}  # fmt: skip
"""Pages at the top of the repository, and their names on the site."""

NOT_FOUND = ("reference.md", "changelog.md")
"""Pages that a search leaves out: pages of words, and on upgrading, say what people look for."""

WORDS = {
    "statistics": ("Statistics", ("statistic",)),
    "mechanisms": (
        "Mechanisms and rules",
        ("mechanism", "mechanism of the local model", "composition", "step of `post`", "utility"),
    ),
    "keys": ("Keys of a spec", ("key", "type")),
    "terms": ("Terms and commands", ("term", "command line", "command")),
    "errors": ("Error codes", tuple(sorted({p.kind for p in pages() if p.kind.endswith("error")}))),
}
"""The pages of words: a title, and the kinds of words that `dpcli explain` explains."""

FENCED = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?:|#)([^)#]+)(#[^)]*)?\)")
NESTED = re.compile(r"^( {2})```\w*\n(?:.*\n)*? {2}```$", re.MULTILINE)

EXPLAINED = re.compile(r"(?<!\[)`dpcli explain ([\w-]+)`")

WORKER = """\
// The script of the search, for pages that a browser opens as files: it starts no worker of a file.
if (location.protocol === "file:") {
  const source = %s, Native = Worker;
  self.Worker = class extends Native {
    constructor() { super(URL.createObjectURL(new Blob([source], {type: "text/javascript"}))); }
  };
}
"""


def site_page(path: Path) -> str:
    """A page of the repository, with its links as on the site."""
    text = path.read_text("utf-8")
    # Blocks within a list are indented by two more for the generator.
    text = NESTED.sub(lambda block: re.sub(r"(?m)^(?=.)", "  ", block[0]), text)
    parts, end = [], 0
    for block in FENCED.finditer(text):
        parts += [_relinked(path, text[end : block.start()]), block[0]]
        end = block.end()
    return "".join([*parts, _relinked(path, text[end:])])


def _relinked(path: Path, text: str) -> str:
    """Text with links as on the site, also from what names a page of `dpcli explain`."""

    def relink(link: re.Match[str]) -> str:
        picture, words, target, anchor = link[1], link[2], link[3], link[4] or ""
        name = (path.parent / target).resolve().relative_to(ROOT).as_posix()
        if picture:
            return f"![{words}]({Path(name).name})"
        if name in TOP:
            return f"[{words}]({TOP[name]}{anchor})"
        if name.startswith("docs/") and name.endswith(".md"):
            return f"[{words}]({name.removeprefix('docs/')}{anchor})"
        return words  # Files of the repository are not on the site.

    return EXPLAINED.sub(_explain_link, LINK.sub(relink, text))


def _explain_link(named: re.Match[str]) -> str:
    return next((f"[{named[0]}]({target})" for target in _targets(named[1])), named[0])


def word_page(title: str, kinds: Sequence[str]) -> str:
    """The pages of `dpcli explain` about words of some kinds, by name."""
    chosen = sorted((page for page in pages() if page.kind in kinds), key=lambda page: page.name)
    parts = [f"# {title}", "What `dpcli explain WORD` prints."]
    for page in chosen:
        parts += [f"## {_plain(page.name)} {{#{_anchor(page)}}}", *_explained(page)]
    return "\n\n".join(parts) + "\n"


def _explained(page: Page) -> Iterator[str]:
    other = [word for word, meant in synonyms().items() if meant == page.name]
    named = f"; other words: {', '.join(map(_plain, (*page.also, *other)))}"
    yield f"*{_plain(page.title)}{named if page.also or other else ''}*"
    meaning = help_prose(page.name) if page.kind == "command" else page.meaning
    for paragraph in meaning.split("\n\n"):
        indented = "\n " in f"\n{paragraph}"
        yield f"```text\n{paragraph}\n```" if indented else _plain(" ".join(paragraph.split()))
    if len(page.uses) > 1:
        yield "\n".join(f"- in {', '.join(use.places)}: {_plain(use.says)}" for use in page.uses)
    if page.example:
        language = "text" if page.kind.endswith("error") else "yaml"
        yield f"```{language}\n{page.example.rstrip()}\n```"
    for label, text in (("Allowed", page.values), ("If absent", page.absent), ("Fix", page.fix)):
        if text:
            yield f"**{label}:** {_plain(text)}"
    links = [f"[{_plain(word)}]({target})" for word in page.see for target in _targets(word)[:1]]
    if links:
        yield f"See also: {', '.join(links)}."


def _targets(word: str) -> list[str]:
    """Where the pages about a word are: first what may be asked, which shares names with keys."""
    found = [page for page in pages() if word in (page.name, *page.also)]
    files = {kind: file for file, (_, kinds) in WORDS.items() for kind in kinds}
    order = list(WORDS)
    found.sort(key=lambda page: order.index(files[page.kind]))
    return [f"words-{files[page.kind]}.md#{_anchor(page)}" for page in found]


def _anchor(page: Page) -> str:
    """The anchor of a word on its page; kinds that share a page have anchors of their own."""
    plain = re.sub(r"[^\w]+", "-", page.name).strip("-")
    ours = next(kinds for _, kinds in WORDS.values() if page.kind in kinds)
    same = [other for other in pages() if other.name == page.name and other.kind in ours]
    return f"{plain}-{same.index(page) + 1}" if same.index(page) else plain


def _plain(text: str) -> str:
    """Text in which marks of Markdown outside of code stay as they are."""
    parts = text.split("`")
    for index in range(0, len(parts), 2):
        parts[index] = re.sub(r"([*_<\[\]{}])", r"\\\1", parts[index])
    return "`".join(parts)


def stage(folder: Path) -> None:
    """Write what the generator reads: pages, pictures and styles."""
    target = folder / "pages"
    target.mkdir()
    paths = {path: path.name for path in DOCS.glob("*.md")}
    paths |= {ROOT / name: new for name, new in TOP.items()}
    for path, name in paths.items():
        hidden = "---\nsearch:\n  exclude: true\n---\n" if name in NOT_FOUND else ""
        (target / name).write_text(hidden + site_page(path), encoding="utf-8")
    for file, (title, kinds) in WORDS.items():
        (target / f"words-{file}.md").write_text(word_page(title, kinds), encoding="utf-8")
    page, report = gallery()
    inside, outside = styles(report)
    (target / "gallery.md").write_text(page, encoding="utf-8")
    (target / CSS).write_text(inside, encoding="utf-8")
    (target / "site.css").write_text((DOCS / "site.css").read_text("utf-8") + outside, "utf-8")
    for picture in (ROOT / ".images").glob("*.png"):
        shutil.copy(picture, target)
    (target / "assets").mkdir()
    (target / "assets" / "iframe-worker.js").write_text("", encoding="utf-8")
    shutil.copy(DOCS / "zensical.toml", folder)


def build(site: Path) -> None:
    """Make the site anew in a folder; a link that leads nowhere is an error."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        stage(folder)
        words = [sys.executable, "-m", "zensical", "build", "--strict"]
        subprocess.run(words, cwd=folder, check=True)
        (worker,) = (folder / "site" / "assets" / "javascripts" / "workers").glob("search.*.js")
        script = WORKER % json.dumps(worker.read_text("utf-8")).replace("</", "<\\/")
        (folder / "site" / "assets" / "iframe-worker.js").write_text(script, encoding="utf-8")
        shutil.rmtree(site, ignore_errors=True)
        shutil.move(folder / "site", site)


if __name__ == "__main__":
    build(Path(sys.argv[1]) if sys.argv[1:] else ROOT / "site")
