"""Words for what only people can answer."""

from __future__ import annotations

from dpcli.reference import Page, Use

_ABSENT = "The report says that it is for the steward to answer."
_UNSAID = "The record for the public register marks it, to be filled in."
_TEXT = "a text of at most 2,000 characters"


def _asked(name: str, meaning: str, example: str, says: str) -> Page:
    """A page about an answer that a hazard asks for."""
    use = Use(("declarations",), says)
    return Page(name, "key", meaning, _TEXT, example, _ABSENT, ("declarations",), (use,))


def _described(name: str, meaning: str, example: str, says: str) -> Page:
    """A page about a description of what is published."""
    use = Use(("declarations",), says)
    return Page(name, "key", meaning, _TEXT, example, _UNSAID, ("declarations",), (use,))


PAGES: tuple[Page, ...] = (
    Page(
        "declarations",
        "key",
        "What no program can find out, in the words of whoever answers for the release: how "
        "many people there are, why a row is a person, where bounds come from, what else is "
        "published. Declarations change no noise and no price. `dpcli plan --hazards` asks for "
        "them, and the report and the record for the public register quote them.",
        "population, privacy_unit, bounds, other_releases, access, collection, fairness, timing, "
        "curator, description, intended_use, region; each once at most",
        "declarations: {population: 30000, bounds: from the questionnaire}",
        "Hazards that only people can judge stay open.",
        ("hazards", "population", "privacy_unit", "other_releases"),
        (Use(("spec",), "What only people can answer; the report quotes it."),),
    ),
    Page(
        "hazards",
        "command line",
        "What can void or weaken a guarantee that is right on paper: a large epsilon, rows that "
        "are taken for people, a delta that is large for the population, bounds chosen by looking "
        "at the data, bias, small groups, side channels, other releases (after NIST SP 800-226, "
        "2025). The plan and the report say of each: met, warned, or for the steward to answer.",
        "met, warned, for the steward to answer",
        "dpcli plan spec.yaml --hazards",
        "They are in every report; the plan prints them when asked.",
        ("declarations", "epsilon", "unit"),
    ),
    Page(
        "population",
        "key",
        "How many people the data may be about, from what is known publicly; a rough number will "
        "do. Delta must be far below one divided by it: at most one hundredth of that counts as "
        "met. It is never read from the data.",
        "a whole number from 1 to 100,000,000,000",
        "population: 30000",
        _ABSENT,
        ("delta", "declarations"),
        (Use(("declarations",), "How many people the data may be about; a public fact."),),
    ),
    _asked(
        "privacy_unit",
        "Why what is protected is a person: why nobody has two rows, or why each person has one "
        "id and only one.",
        "privacy_unit: one form per resident, checked against the register",
        "Why nobody has two rows, or why each person has one id.",
    ),
    _asked(
        "other_releases",
        "What else was or will be published of the same people, with noise or without, here or "
        "by others. It adds to what they lose.",
        "other_releases: yearly totals without noise, by the same office",
        "What else was or will be published of these people.",
    ),
    _asked(
        "access",
        "Who may read the data and the ledger, and how both are guarded. Noise protects only "
        "against those who see nothing but what is published.",
        "access: two statisticians, on a server without internet",
        "Who may read the data and the ledger, and how both are guarded.",
    ),
    _asked(
        "collection",
        "How the data were collected, and who has seen them on their way.",
        "collection: on paper at the clinic's desk, typed by its staff",
        "How the data were collected, and who has seen them.",
    ),
    _asked(
        "fairness",
        "For whom noise and bias matter most, and what was done about it: every group gets the "
        "same noise, which is a larger part of a small group's numbers.",
        "fairness: regions below 500 people are published together",
        "For whom noise and bias matter most, and what was done about it.",
    ),
    _asked(
        "timing",
        "Who can see how long a release takes or how much memory it uses. Both depend on the data, "
        "and are not protected.",
        "timing: nobody but the operator; released by cron at night",
        "Who can see how long a release takes, or how much memory it uses.",
    ),
    _described(
        "curator",
        "Who publishes.",
        "curator: Statistics Office of the Town",
        "Who publishes.",
    ),
    _described(
        "description",
        "What is published, in a sentence or two for its readers.",
        "description: visits to the town's clinics in 2021",
        "What is published, in a sentence or two.",
    ),
    _described(
        "intended_use",
        "What the numbers are meant for, and perhaps what they are not good for.",
        "intended_use: planning of opening hours",
        "What the numbers are meant for.",
    ),
    _described(
        "region",
        "Of what place the data are, and under which law they are published.",
        "region: the town; national statistics act",
        "Of what place the data are, and under which law.",
    ),
)
