"""The sections that the pages of releases and of local collections share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from xml.etree.ElementTree import Element

from dpcli import __version__
from dpcli.plan.judging import Verdict
from dpcli.plan.model import Plan
from dpcli.plan.risks import hazards
from dpcli.privacy.loss import loss_text
from dpcli.privacy.relation import RowUnit
from dpcli.report.html.element import Part, document, element, label
from dpcli.report.meaning import meaning, promise
from dpcli.report.numbers import brief
from dpcli.report.stewardship import capital, sentences
from dpcli.spec.model import Privacy

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""The page may load and run nothing, whatever a text in it says."""

LONGEST_WORD = 24
"""Letters of a word that a column of a table can hold on a narrow page."""

MARKS = {
    Verdict.MET: ("met", "\u2713"),
    Verdict.WARNED: ("warned", "!"),
    Verdict.OPEN: ("open", "?"),
}


def page(title: str, parts: Iterable[Part]) -> bytes:
    """A whole page in UTF-8."""
    style = files("dpcli.report.html").joinpath("report.css").read_text(encoding="utf-8")
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="generator", content=f"dpcli {__version__}"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        element("style", style),
    )
    body = element("body", element("main", parts))
    return document(element("html", head, body, lang="en"))


def section(title: str, *parts: Part | Iterable[Part]) -> Iterator[Part]:
    """A heading and what is under it."""
    yield element("h2", title)
    for part in parts:
        if part is None or isinstance(part, str | Element):
            yield part
        else:
            yield from part


def paragraphs(sentences_: Iterable[str]) -> Element:
    """Sentences as a list."""
    return element("ul", [element("li", label(capital(one))) for one in sentences_])


def notes(title: str, told: Sequence[str]) -> Iterator[Part]:
    """A section of sentences; nothing if there are none."""
    if told:
        yield from section(title, paragraphs(told))


def tiles(facts: Iterable[tuple[str, str]]) -> Element:
    """The few facts that matter most, large."""
    return element(
        "ul",
        [element("li", element("b", label(text)), name) for name, text in facts],
        class_="tiles",
    )


def pairs(facts: Iterable[tuple[str, str]]) -> Element:
    """Names and what they stand for."""
    return element(
        "dl",
        [
            part
            for name, text in facts
            for part in (element("dt", name), element("dd", label(text)))
        ],
        class_="facts",
    )


def plain_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Element:
    """A table of texts; on a phone each line becomes a list of names and texts."""
    return element(
        "table",
        element("thead", element("tr", [element("th", name, scope="col") for name in header])),
        element(
            "tbody",
            [
                element(
                    "tr",
                    [_cell(name, text) for name, text in zip(header, row, strict=True)],
                )
                for row in rows
            ],
        ),
        class_="wide",
    )


def _cell(name: str, text: str) -> Element:
    """One text of a table, whose words are broken only where no line could hold them."""
    digits = text and not text.strip("0123456789.-")
    longest = max(map(len, text.split()), default=0)
    kind = "digits" if digits else "words" if longest <= LONGEST_WORD else "long"
    return element("td", label(text), data_name=name, class_=kind)


def headline(plan: Plan) -> list[tuple[str, str]]:
    """The facts of the guarantee in a few words."""
    privacy, spent = plan.spec.privacy, plan.spent
    rho = [("rho spent", brief(spent.rho))] if spent.rho is not None else []
    return [
        ("epsilon spent", brief(spent.epsilon)),
        ("delta spent", brief(spent.delta)),
        *rho,
        ("is protected", protected(privacy)),
        ("neighbours", privacy.neighbors.value),
        ("composition", privacy.composition.name),
    ]


def protected(privacy: Privacy) -> str:
    """Who is protected, in a word."""
    return "each row" if isinstance(privacy.unit, RowUnit) else "each person"


def what_it_means(plan: Plan) -> Iterator[Part]:
    """The promise, and what it comes to in numbers that people know."""
    privacy = plan.spec.privacy
    yield from section(
        "What was promised",
        element("p", promise(privacy)),
        paragraphs(meaning(plan)),
        element(
            "p",
            f"Asked for, as a plain sum: {loss_text(plan.asked)}; spent by "
            f"{privacy.composition.name} composition: {loss_text(plan.spent)}.",
            class_="soft",
        ),
    )


def risks(plan: Plan, window: int | None) -> Iterator[Part]:
    """What is found of each hazard."""
    found = hazards(plan, window)
    counts = ", ".join(
        f"{sum(one.verdict is verdict for one in found)} {verdict.value}" for verdict in Verdict
    )
    yield from section("Hazards", element("p", f"{counts}.", class_="soft"))
    for one in found:
        kind, mark = MARKS[one.verdict]
        verdict = element("span", f"{mark} {one.verdict.value}", class_=f"verdict {kind}")
        yield element(
            "div",
            element("p", verdict, " ", element("b", one.question)),
            [element("p", label(sentence)) for sentence in sentences(one)],
            class_="hazard",
        )


def the_spec(text: str) -> Iterator[Part]:
    """The spec as it was written."""
    yield from section("The spec", element("pre", label(text)))
