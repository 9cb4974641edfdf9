"""Merging trace files into events.parquet."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thalweg.errors import CorruptDataError
from thalweg.results.trace_format import read_trace

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = ("component", "rank", "kind", "name", "key", "iteration", "size_bytes", "start_ns", "end_ns", "backend")
_BATCH = 200_000


def read_events(path: Path) -> Any:
    """Read events.parquet.

    Returns
    -------
    pyarrow.Table
        Columns as in docs/formats/result-folder.md, ordered by ``start_ns``.

    Raises
    ------
    CorruptDataError
        When the file is not Parquet or a column is missing.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except pa.ArrowInvalid as error:
        raise CorruptDataError(f"results: {path} is not a Parquet file: {error}") from error
    missing = [name for name in COLUMNS if name not in table.column_names]
    if missing:
        raise CorruptDataError(f"results: {path} has no column {missing[0]!r}; an events file has {', '.join(COLUMNS)}")
    return table


def merge_traces(traces: Path, target: Path) -> Any:
    """Write the events of every trace file under `traces` to `target`, ordered by their start.

    Returns
    -------
    pyarrow.Table
        What was written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    tables = []
    for path in sorted(traces.glob("*.trace")):
        tables.extend(_tables(path))
    table = pa.concat_tables(tables) if tables else _empty()
    table = table.combine_chunks().sort_by([("start_ns", "ascending"), ("end_ns", "ascending")])
    temporary = target.with_suffix(".tmp")
    pq.write_table(table, temporary, compression="zstd")
    os.replace(temporary, target)
    return table


def _schema() -> pa.Schema:
    import pyarrow as pa

    words = pa.string()
    types = [words, pa.int32(), words, words, words, pa.int64(), pa.int64(), pa.int64(), pa.int64(), words]
    return pa.schema(list(zip(COLUMNS, types, strict=True)))


def _empty() -> pa.Table:
    return _schema().empty_table()


def _tables(path: Path) -> list[pa.Table]:
    import pyarrow as pa

    header, events = read_trace(path)
    tables: list[pa.Table] = []
    batch: list[tuple[Any, ...]] = []

    def flush() -> None:
        kinds, names, keys, iterations, sizes, starts, ends, backends = zip(*batch, strict=True)
        count, zero = len(batch), header.run_start_ns
        columns = [
            [header.component] * count,
            [header.rank] * count,
            kinds,
            names,
            keys,
            iterations,
            sizes,
            [start - zero for start in starts],
            [end - zero for end in ends],
            backends,
        ]
        schema = _schema()
        arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
        tables.append(pa.Table.from_arrays(arrays, schema=schema))
        batch.clear()

    for event in events:
        batch.append(event)
        if len(batch) == _BATCH:
            flush()
    if batch:
        flush()
    return tables
