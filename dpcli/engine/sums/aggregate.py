"""Aggregates the rows for all queries in one pass; answers are `Confidential`.

A partial has the sums of some rows, and is as confidential as they are. The partials of one spec
merge to the result of one scan of all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import polars as pl

from dpcli.data.column import Column, row_columns
from dpcli.data.filters import FILTERS, Filter, filtered_columns
from dpcli.engine.cells import FLAGS, Decoder, existing_rows
from dpcli.engine.files.dataset import Dataset
from dpcli.engine.files.pieces import Piece, TextPiece, read_pieces, scan_piece
from dpcli.engine.progress import Progress, interruptible
from dpcli.engine.sums.joint_tables import (
    Answer,
    JointTable,
    JointTableExpressions,
    Partial,
    joint_tables,
    roll_up,
)
from dpcli.mechanisms.query_sensitivity import require_plain
from dpcli.privacy.confidential import Cells, Confidential, Groups
from dpcli.privacy.unit import PersonUnit, RowUnit, Unit
from dpcli.queries.query import BoundedQuery

if TYPE_CHECKING:
    from dpcli.engine.sums.bounding import UserScan
    from dpcli.engine.sums.sealed import SealedSums

ConfidentialAnswer = Confidential[Cells] | Confidential[Groups]

ConfidentialAnswers = list[ConfidentialAnswer]

PiecesOf = Callable[[Sequence[Column]], Iterable[Piece | TextPiece]]
"""All rows as pieces with the wanted columns; each call begins again."""

WAITING = 1 << 20
"""Lines of partials that may wait to be merged."""


def aggregate(
    queries: Sequence[BoundedQuery],
    dataset: Dataset,
    progress: Progress | None = None,
    only: Filter | None = None,
    sealed: SealedSums | None = None,
) -> ConfidentialAnswers:
    """The confidential answer to every query, from one scan of the files.

    Rows that do not pass the filter `only` are removed before anything else. The files must have
    every column that the queries and the filter read. Raises DataError `data-unreadable`, one fixed
    sentence, for every failure; nothing else about the records is reported.
    """
    aggregator = QueryAggregator(queries, only)
    with dataset.redacted_errors():
        return aggregator.confidential_answers(
            aggregator.merged_partial(dataset, progress or Progress()), sealed
        )


class QueryAggregator:
    """Aggregates a release's queries: files to partials, then confidential answers.

    The `unit` of all queries is the same, but for its limits. The errors of methods that read files
    or partials may quote a record. The caller redacts them.

    Privacy: rows that do not pass the filter `only` do not exist: they are removed as soon as they
    are decoded, so they change no answer and no choice among other rows. Whether a row passes
    depends on that row alone, so neighbors stay neighbors (`period_filter`).
    """

    def __init__(self, queries: Sequence[BoundedQuery], only: Filter | None = None) -> None:
        for asked in queries:
            require_plain(asked.query)
        if only is not None and type(only) not in FILTERS:
            raise TypeError("a filter cannot be subclassed")
        self._asked, self.unit, self._only = queries, _unit_of_all(queries), only
        self._tables = joint_tables(
            [BoundedQuery(part, asked.unit) for asked in queries for part in asked.query.parts]
        )
        used = dict.fromkeys(column for asked in queries for column in asked.query.columns)
        self._derived = tuple(column for column in used if column.uses_people)
        columns = dict.fromkeys(row_columns(used))
        columns |= dict.fromkeys(filtered_columns([] if only is None else [only]))
        if isinstance(self.unit, PersonUnit):
            from dpcli.engine.sums.users import id_column

            columns |= {id_column(self.unit): None}
        self.columns: tuple[Column, ...] = tuple(columns)

    def partial(self, dataset: Dataset, progress: Progress) -> Partial:
        """The partial of the files, for `merge`: no user may have rows in other files."""
        if isinstance(self.unit, PersonUnit):
            return self._scan_users(dataset, progress, lambda users: users.partial())
        return interruptible(lambda: self._scan_rows(dataset, progress))

    def merged_partial(self, dataset: Dataset, progress: Progress) -> Partial:
        """The merged partial of all rows, from the one data set that has all files."""
        if isinstance(self.unit, PersonUnit):
            return self._scan_users(dataset, progress, lambda users: users.merged_partial())
        return interruptible(lambda: self.merge([self._scan_rows(dataset, progress)]))

    def mergeable_partial(self, dataset: Dataset, progress: Progress) -> Partial:
        """A partial of the files, for `merge_users`: users may have rows elsewhere."""
        if isinstance(self.unit, PersonUnit):
            return self._scan_users(dataset, progress, lambda users: users.bounded_rows())
        return self.partial(dataset, progress)

    def partial_of_users(self, pieces: PiecesOf, size: int) -> Partial:
        """The partial of all rows of some users, at most `size` rows in pieces."""
        return self._bounded(pieces, size, lambda users: users.partial())

    def merge_users(self, partials: Sequence[Partial]) -> Partial:
        """The merged partial of all rows, from the partials of `mergeable_partial`."""
        if not isinstance(self.unit, PersonUnit):
            return self.merge(partials)

        def merge(users: UserScan) -> Partial:
            users.add_bounded_rows(partials)
            return users.merged_partial()

        return self._with_users(sum(len(frames[0]) for frames in partials), merge)

    def merge(self, partials: Sequence[Partial]) -> Partial:
        """Results of `partial` of different rows, merged to one line per cell."""
        return [
            table.merge(pl.concat(frames, how="vertical_relaxed").lazy()).collect(
                engine="streaming"
            )
            for table, *frames in zip(self._tables, *partials, strict=True)
        ]

    def confidential_answers(
        self, merged: Partial, sealed: SealedSums | None = None
    ) -> ConfidentialAnswers:
        """The answer to every query, from the merged partial of all rows.

        Answers of a series are made with the `sealed` sums of earlier periods, if there are any.
        """
        answers: dict[int, Answer] = {}
        for table, frame in zip(self._tables, merged, strict=True):
            answers |= roll_up(frame, table)
        parts = (answers[position] for position in range(len(answers)))
        confidential: ConfidentialAnswers = []
        for asked in self._asked:
            query, unit = asked.query, asked.unit
            first, *more = islice(parts, len(query.parts))
            # An answer is bound to its query, and to the unit for which rows were bounded.
            if isinstance(first, Groups):
                confidential.append(Confidential(first, query, unit))
                continue
            numbers = (answer for answer in more if not isinstance(answer, Groups))
            if query.keeps_sums and sealed is not None:
                exact = sealed.answer(query, first, *numbers)
            else:
                exact = query.combined(first, *numbers)
            confidential.append(Confidential(exact, query, unit))
        return confidential

    def _scan_rows(self, dataset: Dataset, progress: Progress) -> Partial:
        decoder = Decoder(self.columns)
        rows = RowScan(self._tables, dataset.size, decoder, self._only)
        for piece in read_pieces(
            dataset, tuple(decoder.inputs), progress, in_place=True, native=True
        ):
            for partial in scan_piece(piece, decoder, rows.scan):
                rows.add(partial)
        return rows.partial()

    def _scan_users(
        self, dataset: Dataset, progress: Progress, finish: Callable[[UserScan], Partial]
    ) -> Partial:
        def pieces(columns: Sequence[Column]) -> Iterator[Piece]:
            return read_pieces(dataset, columns, progress, native=True, drops_broken=True)

        return self._bounded(pieces, dataset.size, finish)

    def _bounded(
        self, pieces: PiecesOf, size: int, finish: Callable[[UserScan], Partial]
    ) -> Partial:
        def scan(users: UserScan) -> Partial:
            for piece in pieces(tuple(users.decoder.inputs)):
                for rows in scan_piece(piece, users.decoder, users.scan):
                    users.add(rows)
            return finish(users)

        return interruptible(lambda: self._with_users(size, scan))

    def _with_users(self, size: int, work: Callable[[UserScan], Partial]) -> Partial:
        """The result of `work`, repeated with other random hashes if two ids share one."""
        from dpcli.engine.sums.bounding import UserScan
        from dpcli.engine.sums.users import HashCollisionError

        assert isinstance(self.unit, PersonUnit)
        while True:
            with suppress(HashCollisionError):
                decoder = Decoder(self.columns)
                return work(
                    UserScan(self._tables, self.unit, size, decoder, self._only, self._derived)
                )


def _unit_of_all(queries: Sequence[BoundedQuery]) -> Unit:
    """The unit of all queries, without limits; ValueError if people differ."""
    units = {
        replace(asked.unit.in_one_cell, of_people=False)
        if isinstance(asked.unit, PersonUnit)
        else asked.unit
        for asked in queries
    }
    if len(units) > 1:
        raise ValueError("the queries of one scan are about the same people")
    return units.pop() if units else RowUnit()


class RowScan:
    """One scan of files in which each row is a unit; adds up the partials of pieces.

    Rows that do not pass the filter `only` are removed.
    """

    def __init__(
        self, tables: Sequence[JointTable], size: int, decoder: Decoder, only: Filter | None = None
    ) -> None:
        self._decoder, self._only = decoder, only
        self._names = {column: f"v{index}" for index, column in enumerate(decoder.columns)}
        self._expressions = [JointTableExpressions(table, self._names, size) for table in tables]
        self._waiting: list[Partial] = []
        self._merged_lines = 0

    def scan(self, texts: pl.LazyFrame) -> tuple[Partial, pl.DataFrame]:
        """The partial of some rows, and their flags."""
        rows = existing_rows(self._decoder.read(texts, self._names), self._only, self._names)
        rows = rows.select(*self._names.values(), FLAGS)
        flags, frames = [FLAGS.any()], []
        for expressions in self._expressions:
            is_distinct = expressions.table.kind.distinct is not None
            # The first sums include the flags: to aggregate flags alone is much slower.
            frames.append(
                expressions.partial(expressions.assign_cells(rows), [] if is_distinct else flags)
            )
            flags = flags if is_distinct else []
        if flags:
            frames.append(rows.select(flags))
        results = pl.collect_all(frames, engine="streaming")
        flagged = next(frame for frame in results if "odd_row" in frame.columns)
        partial = [frame.drop(FLAGS) for frame in results[: len(self._expressions)]]
        return partial, flagged.select(FLAGS)

    def add(self, partial: Partial) -> None:
        """Add the partial of more rows."""
        self._waiting.append(partial)
        lines = sum(len(frame) for frames in self._waiting for frame in frames)
        # At least as many lines are new as were merged before, so the cost of all merges is linear.
        if lines > WAITING + 2 * self._merged_lines:
            self._waiting = [self.partial()]
            self._merged_lines = sum(map(len, self._waiting[0]))

    def partial(self) -> Partial:
        """The partial of all rows so far."""
        if len(self._waiting) == 1:
            return self._waiting[0]
        return [
            expressions.table.combine_partials(pl.concat(frames).lazy()).collect(engine="streaming")
            for expressions, *frames in zip(self._expressions, *self._waiting, strict=True)
        ]
