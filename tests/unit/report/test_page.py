"""The page of a report: what it says, and that no text in it can become anything else."""

from __future__ import annotations

import csv
import html
import json
import math
import re
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from dpcli.data.dates import DateColumn
from dpcli.data.grid_columns import require_numeric
from dpcli.data.kinds import Axis
from dpcli.data.number_columns import IntegerColumn
from dpcli.fields.json import JsonNumber
from dpcli.report.charts import Scale, chart_over_bins
from dpcli.report.digits import supported
from dpcli.report.numbers import CellText
from dpcli.report.render import (
    ROOT_OF_TWO,
    environment,
    grouped,
    markdown_block,
    markdown_text,
    prose,
)
from dpcli.report.statistic import AxisReport
from dpcli.statistics.postprocessing import Flag
from tests.support.browser import BROWSER, faults
from tests.support.cli import ROOT, Command
from tests.support.reports import BY_DEFAULT, SAMPLES, Reports
from tests.support.rules import mostly_extended

EVIL = '<script>alert("1")</script>'
RIGHT_TO_LEFT = "\u202eevil\u202c"
LONG = "x" * 300

HOSTILE = f"""\
dpcli: 1
dataset: hostile
privacy:
  unit: row
  neighbors: add-remove
  budget: {{epsilon: 20, delta: 1e-5}}
declarations:
  description: '{EVIL} & "quotes"'
  access: "]]> {RIGHT_TO_LEFT} {LONG}"
columns:
  kind:
    type: category
    values: {{a: '{EVIL}', b: "\u05d0\u05d1\u05d2", c: '"><img src=x onerror=alert(1)>', d: {LONG}}}
  income: {{type: number, bounds: [-1000000, 1000000], step: 0.01}}
  day: {{type: date, bounds: [2020-01-01, 2020-12-31]}}
statistics:
  - {{name: n, statistic: count, by: [kind], epsilon: 1, post: [{{suppress_below: 3}}], raw: true}}
  - {{name: total, statistic: sum, column: income, by: [kind], epsilon: 0.001}}
  - {{name: days, statistic: histogram, column: day, bins: {{width: 1}}, epsilon: 1}}
  - name: by_kind
    statistic: histogram
    column: income
    bins: {{width: 500000}}
    by: [kind]
    epsilon: 1
  - name: a_name_that_is_rather_long_and_has_no_spaces_in_it_at_all
    statistic: median
    column: income
    candidates: {{step: 10000}}
    by: [kind]
    epsilon: 1
  - {{name: usual, statistic: mode, column: kind, epsilon: 1}}
"""


class Page(HTMLParser):
    """The elements and the text of a page, as a browser reads them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of a release in which every text tries to break out of the markup."""
    from tests.support.reports import make_reports

    folder = tmp_path_factory.mktemp("hostile")
    spec, data = folder / "hostile-spec.yaml", folder / "data.csv"
    spec.write_text(HOSTILE, encoding="utf-8")
    data.write_text("kind,income,day\na,1,2020-02-02\nb,-5,2020-03-03\n", encoding="utf-8")
    target = folder / "out"
    target.mkdir()
    return make_reports(spec, target, data).text(".html")


def test_no_text_becomes_markup(hostile: str) -> None:
    """Labels, declarations and the spec are shown unchanged, and no script runs."""
    page = Page(hostile)

    assert not {"script", "img", "iframe", "object", "link", "form"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert EVIL in page.texts
    assert any("onerror" in text for text in page.texts)


def require_a_page_that_loads_nothing(text: str) -> None:
    """Links lead to places on the same page only, and the policy forbids loading anything."""
    page = Page(text)
    named = dict(page.attributes)
    policy = named.get("content") and re.search("default-src 'none'", text)
    assert policy
    assert not [name for name, _ in page.attributes if name in ("src", "srcset", "data")]
    places = [value for name, value in page.attributes if name == "href"]
    assert all(re.fullmatch(r"#[a-z0-9-]+", value or "") for value in places)
    assert {f"#{value}" for name, value in page.attributes if name == "id"} >= {*places}
    assert "url(" not in text.partition("</style>")[0]
    assert "@import" not in text


def test_a_page_loads_nothing_from_elsewhere(reports: Reports) -> None:
    """The page of every sample spec."""
    require_a_page_that_loads_nothing(reports.text(".html"))


def test_a_page_with_hostile_texts_loads_nothing_from_elsewhere(hostile: str) -> None:
    """Texts that try to break out of the markup load nothing."""
    require_a_page_that_loads_nothing(hostile)


def test_gray_numbers_have_enough_contrast() -> None:
    """The color of flagged numbers has a contrast of 4.5 with the paper, which is light or dark."""
    style = (ROOT / "dpcli" / "report" / "templates" / "report.css").read_text(encoding="utf-8")

    def light(color: str) -> float:
        parts = (int(color[place : place + 2], 16) / 255 for place in (1, 3, 5))
        linear = [
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    schemes = re.findall(r"--paper: (#\w{6});.*?--soft: (#\w{6});", style)
    assert "tr.flagged td, td.flagged .value { color: var(--soft); }" in style
    assert len(schemes) == 2
    for paper, soft in schemes:
        low, high = sorted((light(paper), light(soft)))
        assert (high + 0.05) / (low + 0.05) >= 4.5


@pytest.mark.extended
@pytest.mark.skipif(BROWSER is None, reason="there is no browser on this machine")
def test_hostile_texts_do_not_break_the_page(hostile: str) -> None:
    """Everything is readable with long words, other text directions and many bins."""
    widths = (360, 700, 830, 1280)
    assert faults(*((hostile, width) for width in widths)) == [[] for _ in widths]


@pytest.mark.parametrize(
    "reports",
    mostly_extended(
        [path for path in SAMPLES if "local" not in path.name],
        *(path for path in SAMPLES if path.stem in BY_DEFAULT and "local" not in path.name),
    ),
    indirect=True,
    ids=lambda path: path.stem,
)
def test_the_page_has_every_published_number(reports: Reports) -> None:
    """Values have the digits that intervals support, and a comma between thousands."""
    with (reports.folder / "out.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    texts = [text.strip() for text in Page(reports.text(".html")).texts]

    for row in rows:
        texts_of = row["value"], row["lower"], row["upper"]
        read = supported(CellText("", {}, "", *texts_of, Flag(row["flag"])))
        value, lower, upper = map(grouped, (read.value, read.lower, read.upper))
        assert {value or "suppressed", row["flag"] or value} <= {*texts}
        if lower != upper:
            assert f"{lower} to {upper}" in texts


def test_all_formats_state_the_same(reports: Reports) -> None:
    """Every sentence of the JSON report is in the page and in Markdown."""
    stated = json.loads(reports.text(".json"))
    page = " ".join("".join(Page(reports.text(".html")).texts).split()).lower()
    markdown = re.sub(r"\\(.)", r"\1", reports.text(".md")).replace("&amp;", "&").lower()
    notes = ("bounding", "composition", "selections", "post_processing", "unprotected", "limits")
    sentences = [note for key in notes for note in stated.get(key, ())]
    sentences += stated["privacy"]["meaning"] + [stated["privacy"]["promise"]]
    sentences += [risk["found"] for risk in stated["risks"]]
    sentences += [risk["description"] for risk in stated["risks"]]
    statistics = stated.get("statistics", ())
    sentences += [facts["counted"] for facts in statistics]

    for sentence in sentences:
        assert sentence.lower() in markdown
        assert sentence.replace("`", "").lower() in page


def test_every_format_has_the_same_headings(reports: Reports) -> None:
    """The page and Markdown have the same headings in the same order."""
    page = re.findall(r"<h[1-6].*?>(.*?)</h[1-6]>", reports.text(".html"))
    shown = [html.unescape(re.sub("<.*?>", "", heading)) for heading in page]
    lines = [line for line in reports.text(".md").splitlines() if re.match("#{1,6} ", line)]
    other = [html.unescape(re.sub(r"\\(.)", r"\1", line.lstrip("# "))) for line in lines]

    assert shown == other


DAYS = DateColumn("day", bounds=(18262, 18627))
AGES = IntegerColumn("<b>age</b>", bounds=(0, 99))


def stated(key: Axis) -> AxisReport:
    """What a report states of the bins of a column."""
    column = require_numeric(key.column)
    starts = [column.text(start) for start in key.starts]
    end, step = column.text(column.upper), JsonNumber.of(column.step)
    return AxisReport(column=column.name, type=column.kind, step=step, starts=starts, end=end)


def drawn(cells: list[CellText], key: Axis) -> str:
    """A chart as it is on a page."""
    chart = chart_over_bins(cells, stated(key), Scale.covering([], zero=True), "95%")
    macros: Any = environment("html").get_template("charts.html.j2").module
    return str(macros.chart(chart)).strip()


@pytest.mark.parametrize(
    "key", [Axis(AGES, range(0, 100, 4)), Axis(DAYS, (18262, 18353, 18444))], ids=["bins", "dates"]
)
def test_dates_and_many_bins_are_drawn_as_a_line(key: Axis) -> None:
    """A line with a band, a title and a description."""
    cells = [CellText("n", {}, key.label(n), "5", "3", "7", Flag.NONE) for n in range(len(key))]
    drawing = ElementTree.fromstring(drawn(cells, key))
    tags = {element.tag for element in drawing.iter()}

    assert {"polyline", "title", "desc"} <= tags
    assert not {"rect", "script", "b", "a", "image"} & tags


@pytest.mark.parametrize(
    ("starts", "note"), [(range(0, 100, 4), ""), (range(0, 100, 3), "; the last bin is narrower")]
)
def test_a_line_states_that_bins_differ_in_width(starts: range, note: str) -> None:
    """A narrow last bin has fewer rows, so the line falls; the caption states why."""
    key = Axis(AGES, starts)
    cells = [CellText("n", {}, key.label(n), "5", "3", "7", Flag.NONE) for n in range(len(key))]

    chart = chart_over_bins(cells, stated(key), Scale.covering([], zero=True), "95%", "age")
    assert chart.caption == f"age{note}"


def test_a_suppressed_number_interrupts_a_line() -> None:
    """A line is not drawn through a bin whose number is left out."""
    key = Axis(DAYS, tuple(range(18262, 18562, 30)))
    values = ["5" if n != 4 else "" for n in range(10)]
    cells = [CellText("n", {}, "", text, text, text, Flag.NONE) for text in values]

    assert drawn(cells, key).count("<polyline") == 2


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1234567.891", "1,234,567.891"),
        ("-1000", "-1,000"),
        ("999", "999"),
        ("2021-01-01", "2021-01-01"),
        ("12345 to 9", "12345 to 9"),
    ],
)
def test_thousands_are_separated_in_numbers_only(text: str, shown: str) -> None:
    """Plain decimals get commas; dates, words and short numbers stay as they are."""
    assert grouped(text) == shown


def test_a_number_stays_with_its_unit() -> None:
    """There is no line break between a number and the word after it."""
    assert prose("at most 3 visits in 2 groups") == "at most 3\xa0visits in 2\xa0groups"
    assert prose("on 2021-03-01") == 'on <span class="whole">2021-03-01</span>'


@pytest.mark.parametrize("text", ["- x", "+ x", "1. x", "2) x", "---", "===", "> x", "# x", "|x"])
def test_no_text_starts_a_markdown_block(text: str) -> None:
    """A text that begins like a list, heading, quotation, ruler or table stays a paragraph."""
    assert re.match(r"\d*\\[-+=.)>#|]", markdown_block(f"  {text}"))


def test_keys_in_sentences_are_code_and_stay_escaped() -> None:
    """Backticks mark code on a page; the text between them is still escaped."""
    assert prose("see `<b>` & `c") == "see <code>&lt;b&gt;</code> &amp; `c"


@pytest.mark.parametrize(
    "text", [EVIL, "a|b", "`X`", "``x``", "[x](http://y.example)", "# x", "a\nb"]
)
def test_no_text_becomes_markdown(text: str) -> None:
    """Every mark that Markdown knows is escaped, and a text stays on its line."""
    shown = markdown_text(text)

    assert "\n" not in shown
    assert not re.search(r"(?<!\\)[`|<>\[\]#]", shown)
    assert "://" not in shown


def test_words_of_a_spec_are_code_in_markdown() -> None:
    """Nothing in them is escaped; a pair of backticks around anything else is."""
    assert markdown_text("declare `intended_use` or `min_rows: 9`") == (
        "declare `intended_use` or `min_rows: 9`"
    )
    assert markdown_text("`a_b` c_d `<b>`") == r"`a_b` c\_d \`\<b\>\`"


def release_in_a_window(dpcli: Command, spec: Path, data: Path, epsilon: int, *words: Any) -> None:
    """A release from an account that bounds windows of seven days, which is opened first."""
    book = spec.with_name("book.sqlite")
    if not book.exists():
        assert dpcli("ledger", "init", book).status == 0
        opened = dpcli(
            "ledger", "open", "town", "--epsilon", str(epsilon), "--delta", "1e-5",
            "--window", "7", "--ledger", book,
        )  # fmt: skip
        assert opened.status == 0, opened.err
        spec.write_text(spec.read_text("utf-8").replace("epsilon: 10", f"epsilon: {epsilon}"))
    done = dpcli("release", spec, data, "-q", "--ledger", book, *words)
    assert done.status == 0, done.err


def test_the_loss_before_a_release_is_that_of_its_window(
    dpcli: Command, spec: Path, data: Path, tmp_path: Path
) -> None:
    """The budget before and after is that of the worst window around the day, in each report."""
    before = []
    for day in ("2026-01-01", "2026-01-20", "2026-01-22", "2026-02-15"):
        report = tmp_path / f"{day}.json"
        words = ("-o", "/dev/null", "--report", report, "--period", day)
        release_in_a_window(dpcli, spec, data, 20, *words)
        stated = json.loads(report.read_text(encoding="utf-8"))["privacy"]
        before.append(stated["before"]["epsilon"])
        assert (
            stated["before"]["epsilon"] + stated["spent"]["epsilon"]
            == 20 - stated["remaining"]["epsilon"]
        )

    assert before == [0, 0, 6, 0]


def test_the_page_describes_a_window(
    dpcli: Command, spec: Path, data: Path, tmp_path: Path
) -> None:
    """An account that bounds windows of days states what that protects and what it does not."""
    words = ("-o", tmp_path / "o.csv", "--report", tmp_path / "r.html", "--period", "2026-11-21")
    release_in_a_window(dpcli, spec, data, 10, *words)
    page = " ".join((tmp_path / "r.html").read_text(encoding="utf-8").split())

    assert "any 7 consecutive days" in page
    assert "a person who is in the data in every window" in page


def test_the_summary_states_who_is_responsible_and_what_is_missing(
    dpcli: Command, spec: Path, data: Path, tmp_path: Path
) -> None:
    """Publisher and contact are quoted; a purpose that is not declared is visibly missing."""
    report = tmp_path / "r.md"
    with spec.open("a", encoding="utf-8") as file:
        file.write("declarations: {curator: The Town, contact: town@example.org}\n")
    stored = ("--report", report, "--report", report.with_suffix(".json"))
    done = dpcli("release", spec, data, "-q", *stored)

    assert done.status == 0, done.err
    text = report.read_text(encoding="utf-8").split("## Results")[0]
    assert "- Publisher: The Town" in text
    assert "- Contact: town\\@example.org" in text
    assert "- Purpose: not stated" in text
    digest = json.loads(report.with_suffix(".json").read_bytes())["content_sha256"]
    assert re.findall("[0-9a-f]{64}", text)[0] == digest


def test_the_sign_off_has_the_loss_of_the_table_above_it(reports: Reports) -> None:
    """Both have the same short digits, which are no smaller than the exact loss."""
    page, spent = reports.text(".md"), json.loads(reports.text(".json"))["privacy"]["spent"]
    (signed,) = re.findall("at a privacy loss of epsilon ([-0-9.e]+)[., (]", page)
    (above,) = re.findall(r"\| this release \| ([^ ]+) \|", page)

    assert signed.rstrip(".") == above
    assert spent["epsilon"] <= float(above) <= spent["epsilon"] * 1.00001


def test_pages_ask_nothing_of_the_author_of_the_spec(reports: Reports) -> None:
    """What to declare, to simulate or to lower is for `dpcli check` and `dpcli plan --risks`."""
    page, _, _ = reports.text(".md").partition("### The spec")

    asked = ["declarations:", "declare ", "dpcli simulate", "smaller budget", "lower it"]
    asked += ["may help", "larger epsilon"]
    assert [words for words in asked if words in page.lower()] == []


def test_a_report_never_replaces_a_table(
    dpcli: Command, spec: Path, data: Path, tmp_path: Path
) -> None:
    """Two outputs of one name are refused before anything is charged."""
    for words in (
        ("-o", tmp_path / "x.json", "--report", tmp_path / "x.json"),
        ("-o", tmp_path / "x.csv", "--report", tmp_path / "x.csv", "--format", "json"),
        ("-o", tmp_path / "x.csv", "--layout", "wide", "--report", tmp_path / "x.sex.csv",
         "--format", "markdown"),
    ):  # fmt: skip
        done = dpcli("release", spec, data, "-q", *words)
        assert done.status == 2
        assert "error[output-twice]" in done.err
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix in (".csv", ".json")) == [
        "data.csv"
    ]


MANY = """\
dpcli: 1
dataset: many
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 20}}
columns:
  age: {type: integer, bounds: [0, 5999]}
statistics:
  - {name: ages, statistic: histogram, column: age, bins: {width: 1}, epsilon: 1}
"""


def test_pages_show_the_first_lines_and_the_number_of_the_others(
    dpcli: Command, tmp_path: Path
) -> None:
    """Of 6,000 numbers a page has 1,000; the table and the JSON report have all."""
    spec, data = tmp_path / "spec.yaml", tmp_path / "data.csv"
    spec.write_text(MANY, encoding="utf-8")
    data.write_text("age\n7\n", encoding="utf-8")
    html_page, markdown, facts = (tmp_path / f"r.{end}" for end in ("html", "md", "json"))
    reports = [word for path in (html_page, markdown, facts) for word in ("--report", path)]
    done = dpcli("release", spec, data, "-q", "-o", tmp_path / "out.csv", *reports)

    assert done.status == 0, done.err
    assert len((tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()) == 6001
    assert len(json.loads(facts.read_text(encoding="utf-8"))["statistics"][0]["cells"]) == 6000
    for page, last, next_ in (
        (html_page, "<bdi>999</bdi>", "<bdi>1000</bdi>"),
        (markdown, "| 999 |", "| 1000 |"),
    ):
        text = page.read_text(encoding="utf-8").replace("\xa0", " ")
        assert last in text
        assert next_ not in text
        assert "5,000 more lines are in the table and in the JSON report." in text


def test_every_header_of_a_table_has_a_text(reports: Reports) -> None:
    """Screen readers name a cell by its headers, so none is empty."""
    headers = re.findall(r"<th\b[^>]*>(.*?)</th>", reports.text(".html"), re.DOTALL)

    assert headers and all(re.sub("<.*?>", "", header).strip() for header in headers)


MONTHS = """\
dpcli: 1
dataset: months
rows_are: visits
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 20}}
columns:
  day: {type: date, bounds: [2021-01-01, 2021-12-31]}
  place: {type: category, values: [north, south]}
derive:
  month: {part: month, of: day}
statistics:
  - {name: both, statistic: count, by: [month, place], error: 25}
  - {name: usual, statistic: top_k, column: month, k: 2, epsilon: 1}
declarations: {curator: The Town}
"""


def test_months_are_on_a_time_axis(dpcli: Command, tmp_path: Path) -> None:
    """Each label of another key has a line, on one scale; a top k shows its counts."""
    spec, data = tmp_path / "spec.yaml", tmp_path / "data.csv"
    spec.write_text(MONTHS, encoding="utf-8")
    data.write_text("day,place\n2021-02-03,north\n", encoding="utf-8")
    words = ("--report", tmp_path / "r.html", "--release-id", "first")
    assert dpcli("release", spec, data, "-q", "-o", tmp_path / "o.csv", *words).status == 0
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    page = " ".join("".join(Page(text).texts).split())
    north, south = re.findall(r'<svg[^>]*class="chart">.*?</svg>', text, re.DOTALL)
    ticks = [re.findall(r'text-anchor="end" dy.*?>(.*?)<', drawing) for drawing in (north, south)]

    assert "north: value (visits) by month" in page and "south: value (visits) by month" in page
    assert ticks[0] == ticks[1] and len(ticks[0]) > 1
    assert ">January</text>" in north and ">December</text>" in north
    assert "usual noisy counts (visits)" in page
    assert "Cite as: The Town: months. Release first," in page
    # The error that was asked for is reached, and a difference of two counts has 1.4143 times that.
    assert re.search(r"both: wanted was an error of at most 25; 2\d(\.\d+)? is reached", page)
    assert re.search(r"both: differences below about 3[0-6] between two numbers may be noise", page)


def test_a_difference_of_laplace_noise_is_within_what_the_page_says() -> None:
    """The tail of the difference of two Laplace variables is (1 + t / 2) exp(-t)."""
    within = float(ROOT_OF_TWO) * math.log(20)

    assert 0.04 < (1 + within / 2) * math.exp(-within) <= 0.05
    assert float(ROOT_OF_TWO) >= math.sqrt(2)


def test_numbers_without_information_set_no_scale() -> None:
    """Their intervals cover all that is possible, and would hide all others."""
    known = CellText("n", {}, "a", "5", "3", "7", Flag.NONE)
    unknown = CellText("n", {}, "b", "500", "0", "1000", Flag.NO_INFORMATION)
    scale = Scale.of([known, unknown], zero=True, dates=False)

    assert scale.low == 0 and scale.high == 7
    assert scale.mark(unknown).upper == 1
    assert Scale.of([unknown], zero=True, dates=False).high == 1000


def test_a_scale_goes_no_farther_below_zero_than_its_numbers() -> None:
    """One small negative number does not move zero to the middle; positive ones likewise."""
    numbers = [Fraction(-3), Fraction(2500)]
    scale = Scale.covering(numbers, zero=True)

    assert [scale.low, scale.high] == numbers
    mirrored = Scale.covering([-number for number in numbers], zero=True)
    assert mirrored.low == -2500 and mirrored.high == 3
    assert Scale.covering([Fraction(-37), Fraction(2500)], zero=True).low == -40
