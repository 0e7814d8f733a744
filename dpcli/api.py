"""The calls of the public API: what the command line does, for programs.

Import them from `dpcli`. Every failure is a DpcliError, which carries its `problems` and the exit
`status` of the command line, and quotes no record. Nothing is printed, and no signal is handled.
"""

from __future__ import annotations

import datetime
import json
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import signature
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, Protocol, TypeVar, cast

from dpcli.engine.files.source import Input, MemoryTable
from dpcli.fields.json import json_text
from dpcli.ledger.charge import StoredRelease
from dpcli.ledger.ledger import OpenLedger
from dpcli.ledger.options import NAMED, checked_id, checked_period
from dpcli.ledger.public import FileName, Ledger
from dpcli.planning.plan import CentralPlan, LocalPlan, Plan, PlanT
from dpcli.planning.planner import make_plan, require_plan_fits
from dpcli.planning.words.guarantee import reader_warnings
from dpcli.problems.errors import (
    MAPPING,
    BudgetError,
    DataError,
    DpcliError,
    Problem,
    SpecError,
    StoppedBySignal,
    UsageError,
    internal_error,
)
from dpcli.problems.system import require_supported
from dpcli.releasing.publishing import require_table_name, require_writable
from dpcli.releasing.request import ReleaseRequest, check_again_error, checked_sha256
from dpcli.releasing.responses import ChargedResponses
from dpcli.releasing.run import CollectionRun, Messages, ReleaseRun
from dpcli.releasing.steps import opened_data, require_quality
from dpcli.report.formats import LONG, render_outputs
from dpcli.report.notes import release_notes
from dpcli.report.report import Report, collection_report, release_report, stored_report
from dpcli.results import Collection, Form, Problems, Release, Simulation, enough_stored
from dpcli.simulation.limits import NUMBERS, RUNS
from dpcli.specification.load import parse_spec, read_spec_file, require_model
from dpcli.specification.model import CentralSpec, LocalSpec, Spec
from dpcli.specification.yaml_reader import written_mapping

if TYPE_CHECKING:
    import polars as pl

    from dpcli.releasing.steps import Engine

__all__ = ["Collection", "Form", "Release", "Simulation"]

SpecLike = Spec | FileName | Mapping[str, Any]
"""A spec: loaded, the name of its file, or a mapping with its sections."""

T = TypeVar("T")
P = ParamSpec("P")


class ArrowTable(Protocol):
    """A table with the Arrow stream interface, such as one of pandas or Arrow."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """A capsule with the stream."""


if TYPE_CHECKING:
    Data = FileName | Sequence[FileName] | pl.DataFrame | pl.LazyFrame | ArrowTable
    """Files, or a table in memory."""


class WrongTypeError(TypeError):
    """An argument of another type than what was expected."""


def require_type(name: str, value: object, expected: str, *kinds: type | UnionType) -> None:
    """Raise TypeError, naming what was expected, for an argument of another type."""
    if not isinstance(value, kinds):
        raise WrongTypeError(f"`{name}` is of type {type(value).__name__}, expected {expected}")


def file_name(name: str, value: object) -> str:
    """The name of a file as text; TypeError for anything else."""
    require_type(name, value, "the name of a file, as text or as a path", str, os.PathLike)
    return os.fsdecode(value)  # type: ignore[arg-type]


def inputs_of(data: Any) -> tuple[Input, ...]:
    """Files by their names, or a table in memory; TypeError for anything else."""
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "sink_parquet"):
        return (MemoryTable(data),)
    if isinstance(data, list | tuple) and data:
        return tuple(file_name("data", item) for item in data)
    expected = "names of files or a table: of polars, pandas or Arrow"
    require_type("data", data, expected, str, os.PathLike)
    return (os.fsdecode(data),)


def require_parameters(call: Callable[..., object], *args: object, **kwargs: object) -> None:
    """Raise TypeError unless a function takes these arguments."""
    try:
        signature(call).bind(*args, **kwargs)
    except TypeError as error:
        raise WrongTypeError(f"{call.__name__}(): {error}") from None


def _without_words(error: BaseException) -> BaseException:
    """The error without its arguments; SystemExit keeps only a numeric status."""
    if isinstance(error, SystemExit):
        return SystemExit(error.code if isinstance(error.code, int | None) else 1)
    if not isinstance(error, StoppedBySignal):
        error.args = ()
        error.__dict__.clear()
    return error


def redacted(call: Callable[P, T]) -> Callable[P, T]:
    """A call of the public API whose errors hold no record, nor frames with records.

    Frames hold rows and answers that were not charged, which a notebook or a debugger would show.
    The message of an error that dpcli did not raise may quote a record, so it is removed.
    """

    @wraps(call)
    def without_records(*args: P.args, **kwargs: P.kwargs) -> T:
        failure: BaseException
        try:
            require_supported()
            require_parameters(call, *args, **kwargs)
            return call(*args, **kwargs)
        except (DpcliError, WrongTypeError) as error:
            failure = error
        except KeyboardInterrupt:
            failure = KeyboardInterrupt()
        except Exception as error:  # noqa: BLE001 - reported by its kind and place
            failure = internal_error(error)
        except BaseException as error:  # noqa: BLE001 - of a signal, or of the caller's table
            failure = _without_words(error)
        # This frame is shown as well, and a table in memory is an argument.
        del args, kwargs
        failure.__context__ = failure.__cause__ = None
        raise failure.with_traceback(None)

    return without_records


def load_spec(path: SpecLike | None = None, *, text: str | None = None) -> Spec:
    """The spec in a file, in a `text` of YAML, or in a mapping with its sections.

    Raises SpecError with every problem of a wrong spec. The ledger of a spec that is in no file is
    in the working directory, unless another one is named.

    >>> load_spec("specs/town.yaml").dataset
    'town-2021'
    """
    if (path is None) == (text is None):
        raise WrongTypeError("load_spec(): name a file, or give a mapping or a `text`")
    if text is None:
        return _loaded("path", path)
    require_supported()
    require_type("text", text, "the text of a spec", str)
    return parse_spec(text, "text", Path())


def _loaded(name: str, spec: Any) -> Spec:
    """The spec that an argument is, or names."""
    require_supported()
    if isinstance(spec, Spec):
        return spec
    if isinstance(spec, Mapping):
        try:
            written = written_mapping(spec)
        except ValueError as found:
            kinds = "texts, numbers, dates, lists and mappings"
            raise WrongTypeError(f"the spec has a value of {found}, expected {kinds}") from None
        return parse_spec(written, MAPPING, Path())
    expected = "a spec: the name of its file, a mapping, or one that is loaded"
    require_type(name, spec, expected, str, os.PathLike)
    if isinstance(spec, str) and "\n" in spec:
        raise WrongTypeError(f"`{name}` is a text of several lines: use `load_spec(text=...)`")
    return read_spec_file(Path(os.fsdecode(spec)))


def plan(spec: SpecLike) -> Plan:
    """The complete plan of a spec; SpecError if a statistic cannot be answered.

    The spec is one that was loaded, or what `load_spec` takes. No row is read. `fits` compares the
    cost with the budget of the spec, not with an account.

    >>> plan("specs/minimal.yaml").fits
    True
    """
    return make_plan(_loaded("spec", spec))


@redacted
def check(spec: SpecLike, data: Data | None = None) -> tuple[Problem, ...]:
    """The problems of a spec, and of the header of the data; empty if there is none.

    No row is read, and no account. A problem has a `code`, a `message`, a `hint` and a `place`.
    """
    try:
        made = make_plan(_loaded("spec", spec))
        require_plan_fits(made)
        if data is not None:
            with opened_data(made.spec, inputs_of(data)):
                pass
    except (SpecError, DataError, BudgetError) as failure:
        return Problems(failure.problems)
    return Problems()


@redacted
def simulate(spec: SpecLike, rows: int, *, runs: int = RUNS, seed: int | None = None) -> Simulation:
    """Many releases of synthetic rows, which are made from the spec alone.

    Reads no data, uses no ledger and spends nothing. Noise has no seed, rows have. Raises SpecError
    for a spec of the local model, and UsageError for numbers that the command refuses.
    """
    given = {"rows": rows, "runs": runs, "seed": 0 if seed is None else seed}
    for name, number in given.items():
        require_type(name, number, "a whole number", int)
        least, most = NUMBERS[name]
        if not least <= number <= most:
            raise UsageError.about("number-beyond-limits", option=name, least=least, most=most)
    central = require_model(_loaded("spec", spec), CentralSpec, "the spec")
    # It needs numpy and polars, which the other names do without until rows are read.
    from dpcli.simulation.report import simulation_report
    from dpcli.simulation.synthetic import SyntheticDataset
    from dpcli.simulation.trials import simulate as run_trials

    with SyntheticDataset(
        central, rows, secrets.randbits(32) if seed is None else seed
    ) as invented:
        findings = run_trials(make_plan(central), invented, runs)
    return Simulation(json.loads(json_text(simulation_report(findings).document)))


@redacted
def release(
    plan: Plan | SpecLike,
    data: Data,
    *,
    ledger: FileName | Ledger | None = None,
    release_id: str | None = None,
    period: str | datetime.date | None = None,
    engine: Literal["local", "spark"] = "local",
    check_again: bool = False,
    any_period: bool = False,
    corrected: bool = False,
    sha256: str | Sequence[str] = (),
    recipient: str | None = None,
) -> Release:
    """Read data, add noise to all answers, charge, and store what may be published.

    The plan is one that was made, or a spec in any form. The data are files, read as one, or a
    table in memory. Without `ledger`, the ledger is that of the command line: the one that the
    environment names, or the one next to the spec, which is made if it is absent. A `release_id`
    that was charged before returns the stored release, and nothing is read. It is required: a cell
    of a notebook that runs twice would be charged twice. The `period` is what the data are about,
    such as a day, `2026-11` or `2026`; an account with a window needs a day. With the engine
    `spark`, Apache Spark reads the files. With `check_again`, a `release_id` whose quality check
    failed is checked again in a new entry, which is charged in full; the failed entry stays. With
    `corrected`, the data replace those of the same day in series. Files are refused unless they
    have the declared `sha256`, one for each in their order. The `recipient` is who gets the
    release; without one, it is that of the spec, or everyone.

    Raises BudgetError, DataError, LedgerError or UsageError, SpecError if the spec names one of the
    files as a list of codes, and QualityError if the quality check fails: then only the
    check is charged. Raises TypeError for arguments of other types.

    Privacy: the release reveals its `cost` of each privacy unit at most, and the ledger has charged
    for that before this returns.

    >>> from tempfile import TemporaryDirectory
    >>> wanted = plan(load_spec("specs/minimal.yaml"))
    >>> with TemporaryDirectory() as folder, Ledger.create(f"{folder}/ledger.sqlite") as ledger:
    ...     words = {"ledger": ledger, "release_id": "first"}
    ...     result = release(wanted, "sample_data/people.csv", **words)
    ...     print(result.charged, result.cost == wanted.cost, len(ledger.releases()))
    True True 1
    """
    if not isinstance(plan, Plan):
        plan = make_plan(_loaded("plan", plan))
    if not isinstance(plan, CentralPlan):
        raise SpecError.about("wrong-model.local", spec=plan.spec.dataset)
    if engine not in {"local", "spark"}:
        raise WrongTypeError(f"`engine` is {engine!r}, expected `local` or `spark`")
    confirmed = {"check_again": check_again, "any_period": any_period, "corrected": corrected}
    for name, value in confirmed.items():
        require_type(name, value, "True or False", bool)
    declared = (sha256,) if isinstance(sha256, str) else sha256
    require_type("sha256", declared, "texts", list, tuple)
    for word in declared:
        require_type("sha256", word, "texts", str)
    request = _request(
        plan, inputs_of(data), ledger, release_id, period, engine,
        sha256=declared, recipient=recipient, **confirmed,
    )  # fmt: skip
    if engine == "spark" and len(request.files) < len(request.data):
        require_type("data", data, "names of files, which Spark reads", str)

    messages = Messages()
    with ReleaseRun(request, messages) as run:
        run.begin()
        if run.stored is None:
            numbers = run.answer(run.aggregate())
            run.commit(numbers, lambda noisy: render_outputs(release_report(noisy), [LONG]))
        inputs = _inputs(request, run.ledger)
    stored = run.outcome
    require_quality(stored, request.path)
    release_id, charged, warnings, done, report = _parts(plan, stored, messages)
    return Release(release_id, charged, warnings, (*done, *release_notes(report)), report, inputs)


@redacted
def randomize(
    plan: Plan | SpecLike,
    data: Data,
    responses: FileName,
    *,
    shuffle: bool = False,
    ledger: FileName | Ledger | None = None,
    release_id: str | None = None,
    period: str | datetime.date | None = None,
    any_period: bool = False,
    recipient: str | None = None,
) -> Collection:
    """Randomize each record by itself, charge for it, and write the `responses` file.

    The file must not exist. Other arguments are as for `release`, also the plan, but a
    `release_id` that was charged before publishes the stored responses, which is possible once.
    Errors are as for `release`; raises OutputError if publishing fails after the charge.

    Privacy: each response reveals the epsilon of its column in the spec at most, to anyone, and
    the `cost` is that of all responses of a record together.
    """
    if not isinstance(plan, Plan):
        plan = make_plan(_loaded("plan", plan))
    if not isinstance(plan, LocalPlan):
        raise SpecError.about("wrong-model", spec=plan.spec.dataset)
    require_type("any_period", any_period, "True or False", bool)
    request = _request(
        plan, inputs_of(data), ledger, release_id, period,
        any_period=any_period, recipient=recipient,
    )  # fmt: skip
    target = Path(file_name("responses", responses))
    protected = [*plan.spec.files, *map(Path, request.files)]
    require_writable([target], protected, force=True)
    require_table_name(target)

    messages = Messages()
    with CollectionRun(request, messages) as run:
        if run.stored is not None:
            ChargedResponses(run.stored, request.path, shuffle).require(target)
        else:
            require_writable([target], [*protected, *run.ledger.files()], force=False)
        run.begin()
        if run.stored is None:
            run.commit(
                lambda collection: render_outputs(collection_report(collection), []),
                shuffle=shuffle,
            )
        stored = run.outcome
        ChargedResponses(stored, request.path, shuffle).publish(target, force=False)
        inputs = (*_inputs(request, run.ledger), target.resolve())
    return Collection(*_parts(plan, stored, messages), inputs)


@redacted
def estimate(spec: SpecLike, collected: FileName) -> pl.DataFrame:
    """Frequencies and means from a file of collected responses, with their errors.

    Raises DataError if the file holds no responses of this spec.

    Privacy: estimates are post-processing, and reveal no more than the responses do.
    """
    loaded = _loaded("spec", spec)
    local = require_model(loaded, LocalSpec, loaded.dataset)
    # It needs polars and numpy, which the other names do without until rows are read.
    from dpcli.local.estimate import count_responses, estimate_groups, estimate_table

    found = count_responses(local, file_name("collected", collected))
    return estimate_table(list(estimate_groups(found, loaded.confidence)))


def _parts(
    plan: Plan, stored: StoredRelease, messages: Messages
) -> tuple[str, bool, tuple[str, ...], tuple[str, ...], Report]:
    """The fields of a `Collection`, in their order."""
    with enough_stored(LONG):
        report = stored_report(stored.release_id, stored.outputs)
    warnings, done = (*messages.warnings, *reader_warnings(plan)), tuple(messages.done)
    return stored.release_id, stored.receipt is not None, warnings, done, report


def _inputs(request: ReleaseRequest[PlanT], ledger: OpenLedger) -> tuple[Path, ...]:
    """The files of a release and its ledger, which no output replaces."""
    spec = request.plan.spec
    place = spec.privacy.place
    sources = () if place is None else (Path(place.source),)
    files = (*sources, *spec.files, *map(Path, request.files), *ledger.files())
    return tuple(path.absolute() for path in files)


def _request(
    plan: PlanT,
    data: tuple[Input, ...],
    ledger: FileName | Ledger | None,
    release_id: str | None,
    period: str | datetime.date | None,
    engine: Engine = "local",
    *,
    check_again: bool = False,
    any_period: bool = False,
    corrected: bool = False,
    sha256: Sequence[str] = (),
    recipient: str | None = None,
) -> ReleaseRequest[PlanT]:
    """The request of a program, after a check of its arguments.

    Without a ledger, the environment names it, as for commands. Raises TypeError or UsageError
    for an argument that is no name or day, and without a `release_id`.
    """
    require_type("release_id", release_id, "text", str, type(None))
    require_type("recipient", recipient, "a name", str, type(None))
    require_type("period", period, "a period", str, datetime.date, type(None))
    text = f"{period:%Y-%m-%d}" if isinstance(period, datetime.date) else period
    if not isinstance(ledger, Ledger):
        named = os.environ.get(NAMED) or None if ledger is None else ledger
        ledger = None if named is None else Path(file_name("ledger", named))
    if check_again and release_id is None:
        raise check_again_error()
    # A cell of a notebook that runs twice would pay twice, and nothing would say that.
    if release_id is None:
        raise UsageError.about("release-id-required")
    name = checked_id(release_id)
    about = cast("PlanT", plan.about(checked_period(text), recipient))
    assert name is not None
    declared = checked_sha256(sha256, data, engine) if sha256 else ()
    return ReleaseRequest(
        about, data, name, ledger, engine, check_again, any_period,
        corrected=corrected, sha256=declared,
    )  # fmt: skip
