"""Makes the gallery of the site: for each statistic, its line of spec and its published numbers.

The entries are those of `specs/`, and the pictures those of the report. Noise differs each time,
so pictures are made when the site is built, and none is stored in the repository.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import yaml

from dpcli import Ledger, load_spec, release
from dpcli.statistics import STATISTICS

ROOT = Path(__file__).parent.parent
SPECS, DATA = ROOT / "specs", ROOT / "sample_data"

OFFICES = {
    "police": "police.csv", "school": "school.csv", "shops": "shops.csv",
    "transport": "transport.csv", "welfare": "welfare.csv",
}  # fmt: skip
"""Data files of specs that are not about `people.csv`."""

ORDER = ("town", "incomes", "tables", "rates", "differences", "relations", "choices")
"""Specs whose entries are shown rather than those of others."""

UNFIT = {"local-survey", "nights", "pums", "unknown-limits"}
"""Specs without a data file here, or whose release is not one of single statistics."""

MORE = (
    ("Percent", "rates", "by_band"),
    ("Rates", "rates", "standardized"),
    ("Dates", "dates", "average"),
    ("Levels that add up", "places", "visits"),
    ("Private groups", "shops", "cities"),
)
"""Entries that are shown in addition: what it shows, the spec and the entry."""

CSS = "picture.css"

HEADER = """# Gallery

Each picture is made from `sample_data/` when this site is built, as it stands in a report.
The line above it is the entry of the spec. A bar is the number; the mark on it is the interval,
which contains the number without noise with 95% confidence.

`{command}` prints the page of a statistic, with its privacy argument."""


COLORS = re.compile(r":root \{(.*?)\}", re.DOTALL)
"""The colors of a report: by day, by night and in print."""


class Plain(yaml.SafeDumper):
    """Writes every scalar without quotes, as specs do: all of them are texts."""

    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}


def styles(report: str) -> tuple[str, str]:
    """The styles of a report as those of a picture, and its colors as those of the site.

    The colors of a picture are those of the scheme that the reader chose.
    """
    light, dark = COLORS.findall(report)[:2]
    inside = COLORS.sub("", report)
    # The text of the site is larger than that of a report.
    inside += "main.shown { zoom: .8; max-width: none; padding: .5rem 0; }"
    return inside, f".picture {{{light}}}\n[data-md-color-scheme=slate] .picture {{{dark}}}\n"


def gallery() -> tuple[str, str]:
    """The page as Markdown, and the styles of a report."""
    specs = {path.stem: _read(path) for path in sorted(SPECS.glob("*.yaml"))}
    names = [*ORDER, *sorted(specs.keys() - UNFIT - set(ORDER))]
    parts = [HEADER.format(command="dpcli explain mean")]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for file in SPECS.glob("*.csv"):
            (place / file.name).symlink_to(file)
        Ledger.create(place / "ledger.sqlite").close()
        style = ""

        def picture(spec: str, entry: dict[str, Any]) -> list[str]:
            nonlocal style
            line, shown, style = _picture(spec, specs[spec], entry, place)
            return [line, shown, f"From `specs/{spec}.yaml`."]

        for statistic in STATISTICS:
            spec, entry = _chosen(statistic.name, names, specs)
            word = f"[`{statistic.name}`](words-statistics.md#{statistic.name})"
            parts += [f"## {statistic.name}", f"{_summary(statistic)} See {word}."]
            parts += picture(spec, entry)
        for heading, spec, name in MORE:
            (entry,) = (entry for entry in specs[spec]["statistics"] if entry["name"] == name)
            parts += [f"## {heading}", *picture(spec, entry)]
    return "\n\n".join(parts) + "\n", style


def _chosen(
    statistic: str, names: Sequence[str], specs: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    """The spec and the entry that show a statistic: one by groups, of which a chart is drawn."""
    entries = [
        (name, entry)
        for name in names
        for entry in specs[name]["statistics"]
        if entry["statistic"] == statistic
    ]
    return next((found for found in entries if "by" in found[1]), entries[0])


def _read(path: Path) -> dict[str, Any]:
    spec: dict[str, Any] = yaml.load(path.read_text("utf-8"), yaml.BaseLoader)  # noqa: S506
    return spec


def _summary(statistic: Any) -> str:
    return " ".join((type(statistic).__doc__ or "").split("\n\n")[0].split())


def _picture(
    name: str, spec: dict[str, Any], entry: dict[str, Any], place: Path
) -> tuple[str, str, str]:
    """The line of an entry, the part of a report that shows its numbers, and the style of that."""
    entry = {key: value for key, value in entry.items() if key != "share"}
    if "rho" not in entry and "error" not in entry:
        entry.setdefault("epsilon", "1")
    line = _yaml(entry).rstrip()
    changed = {key: value for key, value in spec.items() if key not in ("epsilon", "period")}
    changed |= {"dataset": f"{name}-{entry['name']}", "quality": "none", "statistics": [entry]}
    source = place / "spec.yaml"
    source.write_text(_yaml(changed), encoding="utf-8")
    result = release(
        load_spec(source), DATA / OFFICES.get(name, "people.csv"), release_id="gallery",
        ledger=str(place / "ledger.sqlite"),
    )  # fmt: skip
    page = result.report("html")
    numbers = re.search(r'<h3 id="table-1">.*?</h3>(.*?)<section class="appendix"', page, re.DOTALL)
    css = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
    assert numbers is not None
    assert css is not None
    shown = re.sub(r"\n\s*", "\n", numbers[1].strip())
    # Styles of the report hold in the picture alone, and those of the site outside of it.
    picture = (
        '<div class="picture"><template shadowrootmode="open">'
        f'<link rel="stylesheet" href="{CSS}">'
        f'<main class="shown">\n{shown}\n</main></template></div>'
    )
    return f"```yaml\n- {line}\n```", picture, css[1]


def _yaml(value: Any) -> str:
    return yaml.dump(
        value, Dumper=Plain, default_flow_style=True, sort_keys=False, width=72, allow_unicode=True
    )


if __name__ == "__main__":
    print(gallery()[0])
