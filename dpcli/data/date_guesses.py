"""Which formats dates have, guessed from texts that are dates."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from dpcli.data.cell_formats import MONTHS, DateForm, DateFormatError

MAX_FORMS = 4
"""Formats of one column; a file with more of them is better corrected."""

MAX_TEXTS = 500
"""Texts from which formats are guessed, the most frequent ones."""

MIN_SHARE = 0.01
"""A format must read this share of the rows."""

TIME = re.compile(
    r"(?P<before>[ T]|, )(?P<hour>[0-9]{1,2}):[0-9]{2}(?P<second>:[0-9]{2})?(?P<part>\.[0-9]{1,6})?"
    r"(?P<half> ?(?:am|pm))?(?P<zone> ?[+-][0-9]{2}:?[0-9]{2}|Z)?",
    re.IGNORECASE,
)
"""A time of day after a date."""

TOKEN = re.compile(r"[0-9]+|[A-Za-z]+|[^0-9A-Za-z]+")

ORDERS = {0: ("",), 1: ("d", "m"), 2: ("dm", "md", "my", "dy"), 3: ("dmy", "mdy", "ymd")}
"""What numbers of one or two digits may be, in their order; of two, the first is preferred."""

AFTER_YEAR = ("md", "dm")
"""The same for two numbers after a year."""


def guessed_forms(
    texts: Mapping[str, int], declared: Iterable[DateForm] = ()
) -> tuple[DateForm, ...]:
    """The declared formats, then others that read most of the rows."""
    forms = list(declared)
    left = Counter(dict(Counter(texts).most_common(MAX_TEXTS)))
    min_texts = MIN_SHARE * left.total()
    candidates = list(dict.fromkeys(form for text in left for form in _forms(text)))
    for form in forms:
        left = _unread(left, form)
    while len(forms) < MAX_FORMS and left and candidates:
        unread = {form: _unread(left, form) for form in candidates}
        best = min(candidates, key=lambda form: unread[form].total())
        if left.total() - unread[best].total() < max(min_texts, 1):
            break
        forms.append(best)
        left = unread[best]
    return tuple(forms)


def swapped_form(form: DateForm) -> DateForm:
    """The format with day and month exchanged."""
    if not form.has("d") or not form.has("m"):
        return form
    swapped = {"%d": "%m", "%m": "%d"}
    return DateForm(re.sub("%.", lambda match: swapped.get(match[0], match[0]), form.text))


def _unread(texts: Counter[str], form: DateForm) -> Counter[str]:
    pattern = re.compile(form.pattern)
    return Counter({text: rows for text, rows in texts.items() if not pattern.match(text)})


def _forms(text: str) -> Iterator[DateForm]:
    """All formats that may have written a text."""
    time = TIME.search(text)
    if time is not None and time.end() != len(text):
        return
    day, after = (text, "") if time is None else (text[: time.start()], _time_format(time))
    tokens = TOKEN.findall(day)
    fields = [_field(token) for token in tokens]
    short = sum(field == "?" for field in fields)
    is_after_year = short == 2 and "%Y" in fields[: fields.index("?")]
    for order in AFTER_YEAR if is_after_year else ORDERS.get(short, ()):
        letters = iter(order)
        parts = [f"%{next(letters)}" if field == "?" else field for field in fields]
        try:
            yield DateForm("".join(parts) + after)
        except DateFormatError:
            continue


def _field(token: str) -> str:
    """The directive of a token, `?` for a short number, or the token itself."""
    if token.isdigit():
        return {1: "?", 2: "?", 4: "%Y", 6: "%Y%m", 8: "%Y%m%d"}.get(len(token), token)
    names = [month.lower() for month in MONTHS]
    if token.lower() in names and len(token) > len("may"):
        return "%B"
    return "%b" if token.lower() in (name[:3] for name in names) else token.replace("%", "%%")


def _time_format(time: re.Match[str]) -> str:
    half, zone = time["half"] or "", time["zone"] or ""
    return "".join(
        (
            time["before"],
            "%I:%M" if half else "%H:%M",
            ":%S" if time["second"] else "",
            ".%f" if time["part"] else "",
            re.sub("[A-Za-z]+", "%p", half),
            re.sub("[0-9:+-]+|[Zz]", "%z", zone),
        )
    )
