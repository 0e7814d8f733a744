"""The fields of an entry of `statistics`: those of all statistics, then its own."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache
from typing import Annotated, Any, ClassVar

from dpcli import statistics
from dpcli.fields.columns import KeyForm
from dpcli.fields.section import extended_model, plain_word
from dpcli.fields.values import (
    Boolean,
    Choice,
    Delta,
    Epsilon,
    ParsedText,
    Rho,
    invalid_value,
    positive_number,
    summaries_by_name,
)
from dpcli.messages import quote
from dpcli.reference import synonyms, variant_code
from dpcli.specification.captions import Note, Title, UnitText
from dpcli.specification.mechanism_fields import (
    Calibration,
    MechanismName,
    PostProcessedModel,
    Steps,
    WithholdModel,
)
from dpcli.statistics.statistic import Statistic

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,99}")


def _parse_name(text: str) -> str:
    if NAME.fullmatch(text):
        return text
    raise invalid_value("bad-name")


class EntryModel(PostProcessedModel):
    """The fields of all entries: name, groups, mechanism, budget, post-processing."""

    name: Annotated[
        str, ParsedText(_parse_name, {"type": "string", "pattern": f"^{NAME.pattern}$"})
    ]
    statistic: Annotated[
        str,
        Choice(
            "unknown-statistic",
            lambda: summaries_by_name(statistics.STATISTICS),
            names=lambda: statistics.STATISTICS.names,
            meant=synonyms,
        ),
    ]
    by: list[KeyForm] | None = None
    where: dict[str, Any] | None = None
    mechanism: MechanismName | None = None
    epsilon: Epsilon | None = None
    rho: Rho | None = None
    error: Annotated[Fraction, positive_number("25", 10**18)] | None = None
    share: Annotated[Fraction, positive_number("1", 10**6)] | None = None
    delta: Delta | None = None
    calibration: Calibration | None = None
    post: Steps | None = None
    raw: Boolean | None = None
    withhold: WithholdModel | None = None
    title: Title | None = None
    unit: UnitText | None = None
    note: Note | None = None

    statistic_of: ClassVar[Statistic | None] = None
    """The statistic of the entry; None if it is not known."""

    @property
    def what(self) -> str:
        return quote(self.statistic_of.name) if self.statistic_of else "a statistic"

    @property
    def subject(self) -> str:
        name = self.node.scalar("name")
        return name.shown if name and self.statistic_of else self.what

    def report_unknown(self, key: str) -> bool:
        """Reports a field that only other statistics have; False if no statistic has it.

        Without a statistic the field may be right, so only fields that no statistic has are
        reported.
        """
        statistic, span = self.statistic_of, self.node.key_span(key)
        others, common = statistics_with_field(key), list(EntryModel.model_fields)
        if statistic is None:
            if not others:
                specific = [field for other in statistics.STATISTICS for field in other.takes]
                keys = list(dict.fromkeys([*common, *specific]))
                code = variant_code("unknown-field", plain_word(key))
                span.report(code, word=key, choices=keys, owner=self.what)
            return True
        if others:
            code = {"keys": "keys-not-taken", "bound": "bound-not-taken"}.get(
                key, "field-not-taken"
            )
            code += ".labels" * (key == "keys" and statistic.selects_labels)
            own = list(statistic.takes)
            facts = {"what": self.what, "others": others, "takes": own or common}
            span.report(code, word=key, choices=own, key=key, **facts)
        return bool(others)


@cache
def entry_model(statistic: Statistic | None) -> type[EntryModel]:
    """The fields of all entries, followed by the fields of a statistic."""
    if statistic is None:
        return EntryModel
    model = extended_model(statistic.takes, EntryModel)
    model.statistic_of = statistic
    return model


def statistics_with_field(key: str) -> list[str]:
    """The names of the statistics that have a field."""
    return [statistic.name for statistic in statistics.STATISTICS if key in statistic.takes]
