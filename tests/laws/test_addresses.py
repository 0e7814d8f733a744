"""Addresses lead to sources, standards and other tools; the project has no page of its own."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from tests.support.cli import ROOT
from tests.support.rules import for_each

HOSTS = {
    "arxiv.org": "papers",
    "creativecommons.org": "a license that a spec may name",
    "desfontain.es": "a list of deployments",
    "docs.opendp.org": "another tool",
    "docs.tmlt.dev": "another tool",
    "doi.org": "papers",
    "github.com/google/differential-privacy": "another tool",
    "github.com/IBM/differential-privacy-library": "another tool",
    "github.com/opendp/deployments-registry-data": "what a deployment states of its privacy",
    "json-schema.org": "the dialect of schemas",
    "keepachangelog.com": "the form of the changelog",
    "proceedings.mlr.press": "a paper",
    "registry.opendp.org": "the registry of deployments",
    "schemas.openxmlformats.org": "names in workbooks",
    "semver.org": "the rule of versions",
    "stephentu.github.io": "a paper",
    "www.apache.org": "the license",
    "www.usenix.org": "a paper",
    "www.w3.org": "standards",
    # What stands for an address.
    "127.0.0.1": "this machine",
    "HOST:PORT": "a cluster of the reader",
    "y.example": "a page that is not there",
}
"""Every host that a text may name, or a page of a host that is shared, and what it is there for."""

KNOWN = rf"(?:{'|'.join(map(re.escape, HOSTS))})(?![\w-]|\.\w)"
UNKNOWN = re.compile(
    rf"\bhttps?:\\?/\\?/(?!{KNOWN})[\w{{$<][^\s\"'`)]*|(?<!/)\bwww\.[\w.]+|\bgit@[\w.]+"
)
"""An address that leads elsewhere, also without a protocol, or with the slashes of JSON."""

FOLDERS = ("dpcli", "docs", "specs", "tests", "sample_data", ".ci", ".github")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def texts() -> Iterator[Path]:
    """Every text of the repository but this law, which has the forms of addresses."""
    places = [*ROOT.glob("*"), *ROOT.glob(".pre-commit*")]
    places += [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    for path in places:
        if path.is_file() and "__pycache__" not in path.parts and path != Path(__file__):
            yield path


@for_each(list(texts()))
def test_an_address_leads_to_a_known_host(path: Path) -> None:
    """No text names a page of the project, or any that is not declared here."""
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError:
        return
    assert UNKNOWN.findall(text) == []


def test_every_host_is_named() -> None:
    """The list has no host that no text names."""
    named = "\n".join(path.read_text("utf-8", errors="replace") for path in texts())

    assert [host for host in HOSTS if f"//{host}" not in named] == []


def test_the_distribution_names_no_page_of_the_project() -> None:
    """There is none: not in the metadata, nor as the name of a schema."""
    assert not {"urls", "authors", "maintainers"} & PROJECT.keys()
    assert not [path for path in texts() if path.suffix == ".json" and '"$id"' in path.read_text()]


def test_an_address_is_found() -> None:
    """In each form, also behind a known host."""
    forms = ["://dpcli.{}", "://github.com/{}", "://doi.org.{}", "s://arxiv.organ.{}", "s:\\/\\/{}"]
    planted = [f"http{form}".format("example/x") for form in forms]
    planted += ["{}.example.org".format("www"), "{}@host:dpcli".format("git")]
    known = "see https://doi.org/10.1 and http://www.w3.org/ns, https://doi.org."

    assert [text for text in planted if not UNKNOWN.search(f"see {text} there")] == []
    assert not UNKNOWN.search(known)
