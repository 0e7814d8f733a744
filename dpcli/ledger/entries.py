"""What entries of a ledger record, and the limits of what is read from them.

Every command reads entries by these functions, so that `dpcli ledger verify`, which reads all,
finds what any other command refuses.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import cast

from dpcli.data.periods import parse_period
from dpcli.ledger.account import require_joint
from dpcli.ledger.balance import AccountTerms, Payload, day_number, terms_from_payload
from dpcli.ledger.chain import CLOSE, LOST, OPEN, RELEASE, LedgerEntry, canonical, entry_names
from dpcli.ledger.charge import RESPONSES, STOPPED
from dpcli.problems.errors import LedgerError

MAX_UNPACKED = 1 << 30
"""1 GiB: the most bytes of all outputs of an entry together."""

TYPES: Mapping[str, type] = {
    "created": str, "digest": str, "files": list, "stopped": bool, "after_check": str,
    "recovered": dict, "recipient": str, "salt": str, "part_of": str, "recipients": dict,
}  # fmt: skip
"""The type of each item of a payload, except for the terms of an account."""

FILES = '"files":'
"""The key before the data files in the payload of an entry."""

UNREADABLE = (LedgerError, KeyError, TypeError, ValueError, ArithmeticError)


def account_terms(entry: LedgerEntry) -> AccountTerms:
    """The terms in the opening of an account; LedgerError if none has such terms."""
    try:
        return terms_from_payload(entry.content())
    except UNREADABLE:
        raise LedgerError.about("ledger-unusable.entry", number=entry.number) from None


def entry_faults(entries: Iterable[LedgerEntry]) -> Iterator[str]:
    """A sentence for each entry that no dpcli writes after the entries before it."""
    accounts: dict[str, AccountTerms] = {}
    released: set[tuple[str, str]] = set()
    for entry in entries:
        try:
            why = _fault(entry, accounts, released)
        except UNREADABLE:
            why = "cannot be read: a value is missing, or of another type"
        if why:
            yield f"entry {entry.number} {why}"


def _fault(
    entry: LedgerEntry, accounts: dict[str, AccountTerms], released: set[tuple[str, str]]
) -> str:
    """What is wrong with an entry, after those that made `accounts` and `released`."""
    content, dataset, terms = entry.content(), entry.dataset, accounts.get(entry.dataset)
    fits = all(isinstance(content[name], TYPES[name]) for name in TYPES.keys() & content.keys())
    if not fits or "created" not in content or canonical(content) != entry.payload:
        raise ValueError("an entry has its time, and is canonical JSON")
    if entry.kind == OPEN:
        accounts.setdefault(dataset, account_terms(entry))
        opened = accounts[dataset]
        if opened.dataset != dataset:
            return "opens the account of another dataset"
        if opened.part_of is not None:
            require_joint(opened, accounts.get(opened.part_of), Path())
        return f"opens the account `{dataset}` again" if terms else ""
    if entry.kind == LOST:
        return ""
    if terms is None and entry.kind in (RELEASE, CLOSE):
        return f"is about the account `{dataset}`, which was never opened"
    if entry.kind == RELEASE and terms is not None:
        parent = accounts[terms.part_of or dataset]
        return _release_fault(entry, content, (terms, parent), released)
    return "" if entry.kind == CLOSE else f"is of the kind `{entry.kind}`, which does not exist"


def _release_fault(
    entry: LedgerEntry,
    content: Payload,
    charged: Sequence[AccountTerms],
    released: set[tuple[str, str]],
) -> str:
    release = entry.dataset, entry.release_id
    files = cast("list[object]", content.get("files", []))
    # Queries find the files by this text.
    are_found = (FILES in entry.payload) == ("files" in content)
    if "digest" not in content or not are_found or {*map(type, files)} - {str}:
        raise ValueError("a release has the digest of its spec, and maybe files")
    if not entry.release_id or entry.name not in entry_names(entry.release_id, entry.dataset):
        return "has no release id of its dataset"
    if release in released:
        return f"has the release id `{entry.release_id}` again"
    released.add(release)
    recipient = content.get("recipient")
    if any(
        recipient not in {None, *dict(terms.recipients)} for terms in charged if terms.recipients
    ):
        return "has a recipient that its account does not have"
    is_day = day_number(entry.period) is not None
    with suppress(ValueError):
        if entry.period is not None and not is_day:
            parse_period(entry.period)
        if is_day or not any(terms.window for terms in charged):
            return ""
    return "has a period that its account does not take"


def size_error(number: int) -> LedgerError:
    """The error for outputs of an entry with more bytes than are unpacked."""
    return LedgerError.about("ledger-unusable.large", number=number, limit=f"{MAX_UNPACKED:,}")


def unpacked_outputs(number: int, packed: Mapping[str, bytes]) -> dict[str, bytes]:
    """The outputs of an entry, by name.

    Raises LedgerError for bytes that dpcli did not pack, and beyond `MAX_UNPACKED`, before more
    than that is unpacked.
    """
    unpacked: dict[str, bytes] = {}
    size, is_whole = 0, True
    try:
        for name, content in packed.items():
            stream = zlib.decompressobj()
            unpacked[name] = stream.decompress(content, MAX_UNPACKED - size + 1)
            size += len(unpacked[name])
            if size > MAX_UNPACKED:
                raise size_error(number)
            is_whole &= stream.eof and not stream.unused_data
        unpacked.get(RESPONSES, b"").decode()
        is_whole &= not {*map(type, json.loads(unpacked.get(STOPPED, b"[]")))} - {str}
    except (zlib.error, TypeError, ValueError, RecursionError):
        is_whole = False
    if not is_whole:
        raise LedgerError.about("ledger-unusable.outputs", number=number)
    return unpacked
