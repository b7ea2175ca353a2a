"""The bulk operations of the C++ headers, and what they are called in Python. A new one fails here until it has a
name."""

import pathlib
import re

import pytest

import espalier as es

HEADERS = pathlib.Path(__file__).resolve().parents[2] / "include" / "espalier"

NAMES = {
    "static_tree/static_tree.hpp": {
        "build": es.Index,
        "find": es.Index.find,
        "contains": es.Index.contains,
        "lower_bound": es.Index.asof,  # direction="forward"
        "upper_bound": es.Index.successor,
        "successor": es.Index.successor,
        "predecessor": es.Index.predecessor,
        "rank": es.Index.searchsorted,
        "select": es.Index.at,
        "count": es.Index.count,
        "range": es.Index.range,
        "range_rows": es.Index.range,
        "range_offsets": es.Index.range,
        "range_fill": es.Index.range,
        "sum": es.Index.sum,
        "min": es.Index.min,
        "max": es.Index.max,
        "avg": es.Index.avg,
    },
    "blink_tree/blink_tree.hpp": {
        "insert": es.SortedMap.insert,
        "insert_or_assign": es.SortedMap.update,
        "update": es.SortedMap.replace,
        "erase": es.SortedMap.discard,
        "apply": es.SortedMap.apply,
        "find": es.SortedMap.find,
        "contains": es.SortedMap.contains,
        "lower_bound": es.SortedMap.lower_bound,
        "upper_bound": es.SortedMap.successor,
        "successor": es.SortedMap.successor,
        "predecessor": es.SortedMap.predecessor,
        "count": es.SortedMap.count,
        "range": es.SortedMap.range,
        "range_rows": es.SortedMap.range,
        "sum": es.SortedMap.sum,
        "min": es.SortedMap.min,
        "max": es.SortedMap.max,
        "avg": es.SortedMap.avg,
    },
    "radix_tree/radix_tree.hpp": {
        "insert": es.SortedMap.insert,
        "insert_or_assign": es.SortedMap.update,
        "update": es.SortedMap.replace,
        "erase": es.SortedMap.discard,
        "find": es.SortedMap.find,
        "contains": es.SortedMap.contains,
        "lower_bound": es.SortedMap.lower_bound,
        "upper_bound": es.SortedMap.successor,
        "successor": es.SortedMap.successor,
        "predecessor": es.SortedMap.predecessor,
        "rank": es.SortedMap.searchsorted,
        "select": es.SortedMap.peekitem,  # one position a call
        "count": es.SortedMap.count,
        "range": es.SortedMap.range,
        "prefix": es.SortedMap.prefix,
        "count_prefix": es.SortedMap.count_prefix,
        "longest_prefix": es.SortedMap.longest_prefix,
        **{op: getattr(es.SortedMap, op) for op in ("sum", "min", "max", "avg")},
        **{f"{op}_prefix": getattr(es.SortedMap, f"{op}_prefix") for op in ("sum", "min", "max", "avg")},
    },
}
JOINS = {
    "asof_join": es.join_asof,
    "window_join": es.join_window,
    "points_in_spans": es.join_between,
    "count_points_in_spans": es.count_between,
    "overlaps": es.join_overlaps,
    "count_overlaps": es.count_overlaps,
    "span_window_join": es.aggregate_between,
    "sum_overlaps": es.aggregate_overlaps,
    "append": es.Prepared.append,
    "compact": es.Prepared._compact,  # join_window() calls it
}
# Parts of the joins that are not joins: sides, values, gathers, group codes.
NOT_JOINS = {"build", "window_index", "gather_column", "encode", "lookup", "dense_groups_of"}


def source(header):
    path = HEADERS / header
    if not path.exists():
        pytest.skip("the headers are not here")
    return re.sub(r"//[^\n]*", "", path.read_text())


@pytest.mark.parametrize("header", NAMES)
def test_every_bulk_operation_of_a_tree_has_a_name(header):
    # Every bulk call has an _async form; build() is static_tree's.
    text = source(header)
    for base, its_header in (("bulk_reads<", "index/bulk_reads.hpp"), ("bulk_map_writes<", "index/bulk_writes.hpp")):
        if f"public {base}" in text:
            text += source(its_header)
    found = set(re.findall(r"\b(\w+)_async\(", text))
    assert len(found) > 15 and found == set(NAMES[header])


def test_every_join_has_a_name():
    found = set()
    for header in sorted((HEADERS / "join").glob("*.hpp")) or ["join/asof_join.hpp"]:
        text = source(header)
        # Calls that take a stream, other than constructors and factories.
        found |= set(re.findall(r"\b([a-z]\w*)\((?:[^;{}()]|\{\}|\([^()]*\))*\bconst stream& s", text))
    assert found - NOT_JOINS == set(JOINS)


def test_the_classes_of_trees_are_those_known_here():
    """A new kind of tree belongs into NAMES. The hybrid tree is a static tree in Python's terms; it needs a GPU."""
    if not HEADERS.exists():
        pytest.skip("the headers are not here")
    trees = {str(p.relative_to(HEADERS)) for p in HEADERS.glob("*_tree/*_tree.hpp")}
    assert trees == set(NAMES) | {"hybrid_tree/hybrid_tree.hpp"}
