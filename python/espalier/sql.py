"""SQL over indexed tables: the query engine of Espalier, in this process.

    import espalier as es
    con = es.sql.connect("shop.db")                  # a folder; without a path in memory
    con.load("orders", orders_df)                    # polars, pandas, pyarrow, or anything with __arrow_c_stream__
    con.sql("CREATE INDEX by_day ON orders (day) INCLUDE (amount)")
    con.sql("SELECT count(*), sum(amount) FROM orders WHERE day >= '2026-01-01'").pl()

Needs pyarrow: ``pip install 'espalier[sql]'``. The grammar is PostgreSQL's.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

__all__ = ["Connection", "Error", "Result", "connect"]

ARROW_MAJOR = 25


def _load_arrow() -> Any:
    """Imports pyarrow, whose shared libraries the compiled module shares. They are compatible within one major version."""
    try:
        import pyarrow
    except ImportError as missing:
        raise ImportError(
            f"espalier.sql needs pyarrow {ARROW_MAJOR}, which is not installed: pip install 'espalier[sql]'."
        ) from missing
    found = pyarrow.__version__
    if int(found.split(".")[0]) != ARROW_MAJOR:
        raise ImportError(
            f"espalier.sql needs pyarrow {ARROW_MAJOR}, and {found} is installed: "
            f"pip install 'pyarrow=={ARROW_MAJOR}.*'."
        )
    import pyarrow.compute  # noqa: F401 - loads libarrow_compute
    import pyarrow.parquet  # noqa: F401 - loads libparquet

    return pyarrow


_pa = _load_arrow()

try:
    from . import _sql
except ImportError as missing:
    raise ImportError(
        "This build of espalier has no SQL engine: it was compiled without libpg_query (Debian's libpg-query-dev), or "
        f"a shared library is missing ({missing})."
    ) from missing


class Error(Exception):
    """An error of a statement or of the files of a database. The statement has changed nothing.

    ``sqlstate`` has five characters, as in PostgreSQL; ``kind`` is "syntax", "refused", "execution", "constraint",
    "file", "damaged", "in_use", "read_only", "memory" or "internal"; ``excerpt`` is the line of the statement with a
    caret below the place, or empty.
    """

    def __init__(self, message: str, kind: str = "internal", sqlstate: str = "XX000", excerpt: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.sqlstate = sqlstate
        self.excerpt = excerpt

    def __str__(self) -> str:
        message = super().__str__()
        return f"{message}\n{self.excerpt}" if self.excerpt and self.excerpt not in message else message

    def __reduce__(self) -> Any:
        return type(self), (self.args[0], self.kind, self.sqlstate, self.excerpt)


_sql.set_error_type(Error)


class Result:
    """The answer of one statement. Its rows are immutable and independent of the connection."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer
        self._table: Any = None
        self._next = 0

    @property
    def tag(self) -> str:
        """PostgreSQL's command tag: "SELECT 3", "INSERT 0 3", "CREATE TABLE"."""
        return self._answer.tag

    @property
    def plan(self) -> str:
        """The text of EXPLAIN; empty for other statements."""
        return self._answer.plan

    @property
    def notices(self) -> list[str]:
        return self._answer.notices

    @property
    def milliseconds(self) -> float:
        """Time of the statement: parsing, planning, running, saving."""
        return self._answer.milliseconds

    @property
    def columns(self) -> list[str]:
        return self.arrow().column_names if self._answer.has_rows else []

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._answer.stream()

    def arrow(self) -> Any:
        """A pyarrow.Table, without a copy."""
        if self._table is None:
            self._table = _pa.RecordBatchReader._import_from_c_capsule(self._answer.stream()).read_all()
        return self._table

    def pl(self) -> Any:
        """A polars.DataFrame."""
        import polars

        return polars.from_arrow(self.arrow())

    def df(self) -> Any:
        """A pandas.DataFrame."""
        return self.arrow().to_pandas()

    def fetchall(self) -> list[tuple[Any, ...]]:
        """The rows that were not fetched yet, as tuples of Python values."""
        return self.fetchmany(len(self) - self._next)

    def fetchmany(self, size: int = 1) -> list[tuple[Any, ...]]:
        part = self.arrow().slice(self._next, max(size, 0))
        self._next += part.num_rows
        columns = [column.to_pylist() for column in part.columns]
        return list(zip(*columns)) if columns else [()] * part.num_rows

    def fetchone(self) -> tuple[Any, ...] | None:
        rows = self.fetchmany(1)
        return rows[0] if rows else None

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        while rows := self.fetchmany(10_000):
            yield from rows

    def __len__(self) -> int:
        return self._answer.num_rows

    def __repr__(self) -> str:
        if not self._answer.has_rows:
            return f"<espalier.sql.Result: {self.tag}>"
        if self.plan:
            return self.plan
        return f"<espalier.sql.Result: {len(self)} rows>\n{self.arrow().to_string(preview_cols=10)}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _as_table(data: Any) -> Any:
    """A pyarrow.Table of a frame, with types that the engine stores: texts with offsets, plain values of dictionaries."""
    if isinstance(data, _pa.Table):
        table = data
    elif isinstance(data, Mapping):
        table = _pa.table(dict(data))
    elif type(data).__module__.split(".")[0] == "pandas":
        table = _pa.Table.from_pandas(data, preserve_index=False)
    elif hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        table = _pa.table(data)
    else:
        raise TypeError(
            f"A table is made of a polars, pandas or pyarrow frame, a dict of columns, or an object with "
            f"__arrow_c_stream__; this is {type(data).__name__}."
        )
    for i, field in enumerate(table.schema):
        kind = field.type
        if _pa.types.is_dictionary(kind):
            kind = kind.value_type
        if kind == _pa.string_view():
            kind = _pa.large_string()
        if _pa.types.is_timestamp(kind):
            # The engine's timestamps have microseconds and no zone.
            kind = _pa.timestamp("us", kind.tz)
        if kind != field.type:
            try:
                values = table.column(i).cast(kind)
            except _pa.ArrowInvalid as lost:
                raise ValueError(
                    f"Column {field.name!r} of type {field.type} has values that {kind} cannot hold: {lost}"
                ) from lost
            table = table.set_column(i, field.with_type(kind), values)
    return table


def _parameter(number: int, value: Any) -> Any:
    """An array of one value."""
    if isinstance(value, np.datetime64):
        microseconds = value.astype("M8[us]")
        if microseconds != value and not np.isnat(value):
            raise ValueError(f"The value of ${number}, {value!r}, is not a whole number of microseconds.")
        value = microseconds.item()
    elif isinstance(value, np.generic):
        value = value.item()
    try:
        return _pa.array([value])
    except (_pa.ArrowInvalid, _pa.ArrowTypeError, _pa.ArrowNotImplementedError, OverflowError) as refused:
        raise TypeError(f"The value of ${number}, {value!r}, has no SQL type: {refused}.") from refused


class Connection:
    """A database in a folder or in memory. One statement runs at a time; threads that share a connection take turns.

    Use it as a context manager, or call close(): that writes index files. Rows are durable when a statement returns.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        read_only: bool = False,
        memory_limit: int | None = None,
        use_indexes: bool = True,
        file_access: bool = True,
    ) -> None:
        folder = "" if path is None else os.fspath(path)
        self._connection = _sql.Connection(folder, read_only, memory_limit, use_indexes, file_access)

    def sql(self, statement: str, parameters: Any = None) -> Result:
        """Runs one statement and returns its answer; rows that need an index cost as little as the index does.

        ``parameters`` are the values of $1, $2, ... of a SELECT: a list or tuple for one execution. Text that comes
        from elsewhere belongs there, never into the statement.
        """
        if parameters is None:
            return Result(self._connection.execute(statement))
        if isinstance(parameters, (str, bytes)) or not isinstance(parameters, Sequence):
            raise TypeError("parameters is a list or tuple with a value for $1, $2, ...; for many rows use sql_many().")
        columns = {f"p{i + 1}": _parameter(i + 1, value) for i, value in enumerate(parameters)}
        table = _pa.table(columns) if columns else _pa.table({"none": [0]}).select([])
        answer = self._many(statement, table)
        return _WithoutStatement(answer)

    execute = sql

    def sql_many(self, statement: str, parameters: Any) -> Result:
        """Runs a SELECT once for each row of a frame, whose columns are $1, $2, ..., with as few index calls as possible.

        The answer has the column ``statement``, the row of the frame counted from 0, and then the columns of the SELECT.
        """
        return Result(self._many(statement, _as_table(parameters)))

    def _many(self, statement: str, table: Any) -> Any:
        return self._connection.execute_for(statement, table.__arrow_c_stream__())

    def script(self, text: str) -> list[Result]:
        """Runs statements separated by semicolons. Statements before one that fails keep their effect."""
        return [Result(answer) for answer in self._connection.run_script(text)]

    def load(self, table: str, data: Any, *, append: bool = False) -> Result:
        """Creates a table from a frame, or appends the frame's rows to a table with these columns. Atomic."""
        arrow_table = _as_table(data)
        with tempfile.TemporaryDirectory(prefix="espalier-") as folder:
            path = os.path.join(folder, "rows.arrow")
            with _pa.OSFile(path, "wb") as sink, _pa.ipc.new_file(sink, arrow_table.schema) as writer:
                writer.write_table(arrow_table)
            file = path.replace("'", "''")
            try:
                if append:
                    return self.sql(f"COPY {_quoted(table)} FROM '{file}' (FORMAT arrow, by_name true)")
                return self.sql(f"CREATE TABLE {_quoted(table)} AS SELECT * FROM read_arrow('{file}')")
            except Error as error:  # it shows a statement that the caller did not write
                message = re.sub(r" \(line \d+, column \d+\)", "", str(error.args[0])).replace(f"'{file}'", "the frame")
                message = message[:1].upper() + message[1:]
                if error.sqlstate == "42P07":
                    message += " Pass append=True to add the rows to it, or drop it first."
                raise Error(message, error.kind, error.sqlstate) from None

    def explain(self, statement: str) -> str:
        """Which index answers, or why a scan is cheaper."""
        return self.sql("EXPLAIN " + statement).plan

    @property
    def warnings(self) -> list[str]:
        """Problems found so far: indexes that were rebuilt, tables with damaged rows."""
        return self._connection.warnings()

    @property
    def transaction(self) -> str:
        """The status of the current transaction: "none", "active" or "failed"."""
        return self._connection.transaction()

    @property
    def closed(self) -> bool:
        return self._connection.closed

    def close(self) -> None:
        """Rolls back an open transaction and writes index files. May be called again."""
        self._connection.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()


class _WithoutStatement(Result):
    """One execution of a prepared statement: its column "statement" is always 0 and is left out."""

    def arrow(self) -> Any:
        if self._table is None:
            table = super().arrow()
            self._table = table.select(range(1, table.num_columns))
        return self._table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.arrow().__arrow_c_stream__(requested_schema)


def connect(
    path: str | os.PathLike[str] | None = None,
    *,
    read_only: bool = False,
    memory_limit: int | None = None,
    use_indexes: bool = True,
    file_access: bool = True,
) -> Connection:
    """Opens a database, which is created where the folder does not exist; without a path it lives in memory.

    ``read_only`` opens without a lock, concurrently with a writer. ``memory_limit`` is in bytes per statement, 80 % of
    the machine's memory if omitted. ``use_indexes=False`` answers by scans, for comparison. ``file_access=False`` rejects
    COPY, read_csv(), read_parquet(), read_arrow() and load(), for programs that run statements of others.
    """
    return Connection(
        path, read_only=read_only, memory_limit=memory_limit, use_indexes=use_indexes, file_access=file_access
    )
