"""Pictures of a table: its status as SVG, and progress bars."""

from __future__ import annotations

import html
import sys
from typing import Any

_WIDTH, _BAR = 760, 18
_COLOURS = ("#4c78a8", "#f58518", "#54a24b", "#b279a2", "#e45756", "#72b7b2", "#eeca3b", "#9d755d")


def draw(status: dict[str, Any]) -> str:
    """One bar per shard: its length is the rows, its colours are the owners; the number behind it is the load."""
    shards, owners = status["shards"], status["owners"]
    most = max([shard["rows"] for shard in shards] or [0]) or 1
    height = 70 + _BAR * len(shards) + 24 * len(owners)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="12">',
        f'<text x="8" y="20" font-size="14">{html.escape(status["root"])}: {status["rows"]:,} rows, generation '
        f"{status['generation']}</text>",
    ]
    y = 36
    for shard in shards:
        width = 460 * shard["rows"] / most
        step = width / max(len(shard["owners"]), 1)
        out.append(f'<text x="44" y="{y + 12}" text-anchor="end">{shard["shard"]}</text>')
        for i, owner in enumerate(shard["owners"]):
            colour = _COLOURS[owner % len(_COLOURS)]
            out.append(
                f'<rect x="{52 + i * step:.1f}" y="{y}" width="{step:.1f}" height="{_BAR - 4}" fill="{colour}"/>'
            )
        appended = 460 * shard["appended"] / most
        if appended:
            out.append(
                f'<rect x="{52 + width - appended:.1f}" y="{y}" width="{appended:.1f}" height="{_BAR - 4}" fill="#000" '
                'fill-opacity="0.35"/>'
            )
        text = f"{shard['rows']:,} rows, {shard['bytes']:,} bytes, load {shard['load']:,}"
        out.append(f'<text x="{60 + width:.1f}" y="{y + 12}">{text}</text>')
        y += _BAR
    y += 12
    for owner in owners:
        colour = _COLOURS[owner["owner"] % len(_COLOURS)]
        out.append(f'<rect x="52" y="{y}" width="12" height="12" fill="{colour}"/>')
        text = f"owner {owner['owner']}: process {owner['pid']}, restarts {owner['restarts']}, {owner['bytes']:,} bytes"
        out.append(f'<text x="70" y="{y + 11}">{text}</text>')
        y += 24
    return "\n".join([*out, "</svg>"])


def bar(stage: str, done: int, total: int) -> None:
    """A progress bar on the standard error."""
    filled = 30 * done // max(total, 1)
    end = "\n" if done == total else ""
    sys.stderr.write(f"\r{stage:>11} [{'#' * filled}{'.' * (30 - filled)}] {done}/{total}{end}")
    sys.stderr.flush()
