"""Error codes of ledgers and accounts."""

from __future__ import annotations

from dpcli.codes.base import Code

CODES: tuple[Code, ...] = (
    Code(
        "output-not-stored",
        "ledger",
        "An old release is published again in a form that its version of dpcli did not make, and "
        "that was not stored therefore. Nothing is made anew of what was charged.",
        "dpcli ledger export 2025-01-01 --report old.html",
        "Ask for a form that it has: the table as CSV, or --report old.json.",
    ),
    Code(
        "release-stopped",
        "ledger",
        "The quality check of the spec stopped this release: no statistic was answered, so there "
        "are reports of the check, and no table.",
        "dpcli ledger export 2026-11-21 -o noisy.csv   (which ended with exit status 8)",
        "Ask for a report, which states why: `dpcli ledger export 2026-11-21 --report check.md`.",
    ),
    Code(
        "release-void",
        "ledger",
        "A fault of dpcli's own stopped this release after its noise was drawn. What happened "
        "may depend on the noise, so the release is charged, though nothing is published.",
        "dpcli release spec.yaml data.csv --release-id a   (again, after an internal fault)",
        "Use another --release-id, and report the fault with the spec.",
    ),
    Code(
        "release-recovered",
        "ledger",
        "The release was charged again from its published report, after the ledger was lost. "
        "The ledger does not have the bytes of its outputs.",
        "dpcli ledger export 2026-11-21   (of a release that `ledger recover` charged)",
        "Use the files that were published then. A new release needs another --release-id.",
    ),
    Code(
        "ledger-missing",
        "ledger",
        "A ledger that was named by --ledger or DPCLI_LEDGER does not exist. It is not made "
        "anew, for an empty ledger would be a fresh budget.",
        "dpcli release spec.yaml data.csv --ledger typo.sqlite",
        "Check the name. `dpcli ledger init PATH` makes a new ledger.",
    ),
    Code(
        "report-disagrees",
        "ledger",
        "A report that was named to recover a ledger contradicts the ledger or another report: "
        "it is of another ledger or dataset, or was changed.",
        "dpcli ledger recover --from village.report.json   (of the ledger of another town)",
        "Name only reports of releases that this ledger paid for. If releases were made with a "
        "restored ledger before it was recovered, its entries stand, and the older reports "
        "contradict them: recover a copy of the backup instead.",
    ),
    Code(
        "report-changed",
        "ledger",
        "A report that was named to recover a ledger is not as it was published: its spec does not "
        "have its digest, or its losses do not add up.",
        "dpcli ledger recover --from edited.report.json",
        "Find the report as it was published, with every byte.",
    ),
    Code(
        "report-unusable",
        "ledger",
        "The spec within a report cannot be read by this version of dpcli, so nothing shows what "
        "the release revealed.",
        "dpcli ledger recover --from local.report.json   (whose spec names a table that is gone)",
        "Use the version of dpcli that the report names, and put tables that the spec names next "
        "to the report.",
    ),
    Code(
        "releases-unproven",
        "ledger",
        "The ledger lacks entries that no report proves. They may be releases of any account.",
        "dpcli ledger recover --from first.report.json   (and the anchor remembers three more)",
        "Name the reports of all releases. If they are lost, `--unproven N` accepts N missing "
        "entries and closes every account: nothing more can be released from it.",
    ),
    Code(
        "anchor-lost",
        "ledger",
        "A ledger without its anchor is to be recovered: nothing shows how many entries it lacks.",
        "dpcli ledger recover --from first.report.json   (without dpcli-ledger.sqlite.anchor)",
        "Put the anchor back. If it is lost, name every report that was ever published, and add "
        "`--anchor-lost`.",
    ),
    Code(
        "ledger-must-exist",
        "ledger",
        "There is no ledger, and the spec (`ledger: must-exist`) or the environment "
        "(DPCLI_LEDGER_MUST_EXIST=1) does not allow a release to create one: its budget would be "
        "unspent, whatever was released before. Nothing was created.",
        "DPCLI_LEDGER_MUST_EXIST=1 dpcli release spec.yaml data.csv   (in a fresh checkout)",
        "Put the ledger of the spec in its place, or name it by --ledger. `dpcli ledger init PATH` "
        "makes an empty one on purpose; `dpcli ledger recover` makes one from published reports.",
    ),
    Code(
        "account-must-exist",
        "ledger",
        "The ledger has no account for the dataset, and a release may not open one: the spec "
        "(`ledger: must-exist`) or the environment (DPCLI_LEDGER_MUST_EXIST=1) forbids it, or "
        "releases that no report proves were recovered, which may have been of that account.",
        "DPCLI_LEDGER_MUST_EXIST=1 dpcli release spec.yaml data.csv --ledger other.sqlite",
        "Check that it is the right ledger. `dpcli ledger open DATASET` opens the account on "
        "purpose, with an unspent budget.",
    ),
    Code(
        "ledger-exists",
        "ledger",
        "A new ledger was to be made where there is a file already.",
        "dpcli ledger init ledger.sqlite   (twice)",
        "Name a new file, or use the one that is there by --ledger.",
    ),
    Code(
        "ledger-unusable",
        "ledger",
        "The ledger cannot be read or written now: it is locked, read-only, damaged, not a "
        "ledger, or the disk is full. The hint says whether something was charged.",
        "dpcli release /mnt/read-only/spec.yaml data.csv",
        "Check the file, its folder and the disk, then try again; or name another by --ledger.",
    ),
    Code(
        "ledger-in-doubt",
        "ledger",
        "The ledger is not what it was: an entry was changed, removed, or an older copy was "
        "put in its place. It is never taken for an empty one.",
        "cp backup.sqlite dpcli-ledger.sqlite   (and then a release)",
        "Find out who changed it. `dpcli ledger verify --against REPORT` compares it with "
        "published reports. Put the last true copy back, with its anchor; if it is lost, "
        "`dpcli ledger recover --from REPORT...` charges an older copy what reports prove.",
    ),
    Code(
        "ledger-on-network",
        "ledger",
        "The ledger lies on a drive of another machine. Some such drives do not keep locks, and "
        "then one budget could pay twice.",
        "dpcli release /home/me/spec.yaml data.csv   (and /home is on NFS)",
        "Keep the ledger on a local disk, and name it by --ledger or DPCLI_LEDGER.",
    ),
    Code(
        "account-differs",
        "ledger",
        "The dataset's account was opened with another unit, neighbour relation, composition "
        "or budget than the spec has. An account keeps its terms for ever.",
        "budget: {epsilon: 2}   (after a first release with `budget: {epsilon: 1}`)",
        "Change the spec back. Another dataset name is right only for other people.",
    ),
    Code(
        "account-exists",
        "ledger",
        "The dataset has an account already, on other terms.",
        "dpcli ledger open town --epsilon 2   (after `dpcli ledger open town --epsilon 1`)",
        "See its terms by `dpcli ledger show`; they cannot be changed.",
    ),
    Code(
        "period-required",
        "ledger",
        "The account bounds what any so many consecutive days reveal, so each release must "
        "say which day its data are about.",
        "dpcli release spec.yaml data.csv   (on an account with --window 7)",
        "Add the day that the data are about: `--period 2026-11-21`.",
    ),
    Code(
        "period-not-taken",
        "ledger",
        "The account has no window: all its releases count for ever, whatever their day.",
        "dpcli release spec.yaml data.csv --period 2026-11-21",
        "Leave --period out.",
    ),
    Code(
        "release-id-taken",
        "ledger",
        "A release of that id was made from another spec.",
        "dpcli release other.yaml data.csv --release-id a   (an id that spec.yaml has used)",
        "Use the spec of that release, or give this one an id of its own.",
    ),
    Code(
        "no-such-account",
        "ledger",
        "The ledger has no account of that dataset.",
        "dpcli ledger history typo",
        "Use a name that `dpcli ledger show` lists; the ledger of a spec is found by "
        "`--spec SPEC`.",
    ),
    Code(
        "no-such-release",
        "ledger",
        "The ledger has no release of that id.",
        "dpcli ledger export typo",
        "Use an id that `dpcli ledger history` lists.",
    ),
)
