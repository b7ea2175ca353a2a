"""Names and types of the columns of an answer, compared with DuckDB's.

Names that a statement gives, and those of plain columns, have to be the same. A column without a name of its own has the one
PostgreSQL gives it (sum, case, ?column?), where DuckDB takes the text of the expression. Types have to be the same, except
where DuckDB has none of PostgreSQL's or PostgreSQL's rule is another (docs/sql-language.md):
  - SUM of integers is bigint or numeric(38,0), DuckDB's HUGEINT;
  - an integer constant is integer, so that smallint + 1 is integer; DuckDB makes the constant smallint;
  - length(), strpos() and the days between two dates are integer, DuckDB's BIGINT;
  - real and an integer make double precision, DuckDB's FLOAT;
  - an integer constant beyond bigint is numeric, DuckDB's HUGEINT; 1e3 is numeric, DuckDB's DOUBLE;
  - NULL without a type is text, DuckDB's "NULL";
  - the precision of a numeric expression: PostgreSQL has none there, ours and DuckDB's rules differ; the scale is compared.
"""
import re

PLAIN = {"bool": "BOOLEAN", "string": "VARCHAR", "double": "DOUBLE", "float": "FLOAT", "date32[day]": "DATE",
         "timestamp[us]": "TIMESTAMP", "int16": "SMALLINT", "int32": "INTEGER", "int64": "BIGINT", "int8": "TINYINT"}
INTEGERS = ["TINYINT", "SMALLINT", "INTEGER", "BIGINT"]
SUMS = {"BIGINT", "DECIMAL(38,0)"}
POSTGRES_TYPES = {"DOUBLE": "float8", "FLOAT": "float4", "INTEGER": "int4", "BIGINT": "int8", "SMALLINT": "int2", "BOOLEAN": "bool"}
POSTGRES_FUNCTIONS = {"count_star": "count", "trim": "btrim", "quantile_cont": "percentile_cont",
                      "quantile_disc": "percentile_disc", "regexp_matches": "?column?"}  # the operator ~


def our_type(arrow_type):
    decimal = re.fullmatch(r"decimal128\((\d+), (\d+)\)", arrow_type)
    return f"DECIMAL({decimal[1]},{decimal[2]})" if decimal else PLAIN.get(arrow_type, arrow_type)


def scale(type_name):
    decimal = re.fullmatch(r"DECIMAL\(\d+,(\d+)\)", type_name)
    return decimal[1] if decimal else None


def same_type(ours, theirs, text):
    """`text`: the column as DuckDB writes it."""
    if ours == theirs:
        return True
    if theirs == "HUGEINT":
        return ours in SUMS or (scale(ours) == "0" and text.lstrip("-").isdigit())
    if (ours, theirs) == ("INTEGER", "BIGINT"):
        return text.startswith(("length(", "strpos(", "instr(")) or bool(re.search(r"\w - CAST\('[^']*' AS \w+\)\)$", text))
    if theirs == '"NULL"':
        return ours == "VARCHAR"
    if theirs == "DOUBLE" and scale(ours) is not None:
        return bool(re.fullmatch(r"[\d.]+e-?\d+", text))
    if (ours, theirs) == ("DOUBLE", "FLOAT"):
        return bool(re.fullmatch(r"\(\w+ [*/+-] \d+\)", text))
    if ours in INTEGERS and theirs in INTEGERS:
        return ours == "INTEGER" and theirs in ("TINYINT", "SMALLINT")
    return scale(ours) is not None and scale(ours) == scale(theirs)


def postgres_name(text):
    """The name of a column whose expression DuckDB writes as `text`."""
    if text.startswith("CASE "):
        return "case"
    subquery = re.fullmatch(r"\(SELECT (?:DISTINCT )?(.*?)(?: FROM .*)?\)", text)
    if subquery:  # that of its column
        column = re.fullmatch(r"(?:\w+\.)?([a-z_]\w*)", subquery[1])
        return column[1] if column else postgres_name(subquery[1])
    cast = re.fullmatch(r"CAST\((.*) AS ([A-Za-z]+)(?:\(.*\))?\)", text)
    if cast:  # that of a column; else the type's
        column = re.fullmatch(r"(?:\w+\.)?([a-z]\w*)", cast[1])
        return column[1] if column else POSTGRES_TYPES.get(cast[2], {"DECIMAL": "numeric"}.get(cast[2], cast[2].lower()))
    call = re.match(r'"?(\w+)"?\(', text)
    if call:
        return POSTGRES_FUNCTIONS.get(call[1], call[1].lower())
    return "?column?"


def same_name(ours, theirs):
    values = re.fullmatch(r"col(\d+)", theirs)  # VALUES
    if values:
        return ours == f"column{int(values[1]) + 1}"
    is_name = re.fullmatch(r"[a-zA-Z_]\w*", theirs) and theirs not in ("NULL", "true", "false")
    if theirs.startswith("date_part("):  # DuckDB's name of extract, too
        return ours in ("date_part", "extract")
    return ours == (theirs if is_name else postgres_name(theirs))


def difference(ours, theirs):
    """Of [name, Arrow's type] and (name, DuckDB's type): a sentence, or None."""
    if len(ours) != len(theirs):
        return f"{len(ours)} columns, DuckDB has {len(theirs)}"
    for place, ((name, arrow_type), (other_name, other_type)) in enumerate(zip(ours, theirs)):
        if not same_name(name, other_name):
            return f"column {place} is named {name!r}, DuckDB's {other_name!r}"
        if not same_type(our_type(arrow_type), other_type, other_name):
            return f"column {place} has the type {our_type(arrow_type)}, DuckDB's {other_type}"
    return None
