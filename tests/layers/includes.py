#!/usr/bin/env python3
"""Includes point downwards: a file includes only files of its own folder and of folders below it.

usage: includes.py [ROOT]

The orders below are the layers of ARCHITECTURE.md, lowest first; folders of one line do not include each other. A folder
that is missing here is an error, so that a new one gets its place.
"""

from __future__ import annotations

import pathlib
import re
import sys
import tempfile

LIBRARY = [
    ["core"],
    ["sync"],
    ["team"],
    ["trace"],
    ["device"],
    ["index"],
    ["static_tree"],
    ["blink_tree", "radix_tree"],
    ["hybrid_tree"],
    ["instantiate"],
    ["join", "inspect"],
    ["engine", "explorer"],
    ["cli"],
]
# Of src/engine. Files of the folder itself are the lowest layer, but for those that are named.
ENGINE = [["."], ["table"], ["store"], ["index"], ["catalog"], ["expr"], ["keys"], ["plan"], ["exec"], ["sql"],
          ["statements"], ["database"]]
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
SOURCES = {".hpp", ".cpp", ".cuh", ".cu", ".ipp"}


def ranks(order: list[list[str]]) -> dict[str, int]:
    return {name: rank for rank, names in enumerate(order) for name in names}


def library_layer(path: str) -> str | None:
    """The layer of an included path, or of a file relative to include/ or src/; None for what is not ours."""
    parts = path.removeprefix("espalier/").split("/")
    return parts[0] if len(parts) > 1 else None


def engine_layer(path: str) -> str:
    """The layer of a path relative to src/engine."""
    parts = path.split("/")
    if len(parts) > 1:
        return parts[0]
    stem = parts[0].split(".")[0]
    return stem if stem in ("catalog", "database") else "."


def problems(root: pathlib.Path) -> list[str]:
    library, engine = ranks(LIBRARY), ranks(ENGINE)
    found: list[str] = []

    def compare(order: dict[str, int], file: pathlib.Path, own: str, included: str, path: str) -> None:
        for layer in (own, included):
            if layer not in order:
                found.append(f"{file.relative_to(root)}: the folder '{layer}' has no layer in {__file__}")
                return
        if own != included and order[included] >= order[own]:
            found.append(f"{file.relative_to(root)} ({own}) includes {path} ({included})")

    for base in (root / "include", root / "src"):
        for file in sorted(base.rglob("*")):
            if file.suffix not in SOURCES:
                continue
            relative = file.relative_to(base).as_posix()
            own = library_layer(relative)
            if own is None:
                continue
            for path in INCLUDE.findall(file.read_text(encoding="utf-8")):
                private = (root / "src" / path).is_file()
                if not private and not (root / "include" / path).is_file():
                    continue  # of another project, or generated
                included = library_layer(path)
                if included is not None:
                    compare(library, file, own, included, path)
                if private and base.name == "src" and own == included == "engine":
                    compare(engine, file, engine_layer(relative.removeprefix("engine/")),
                            engine_layer(path.removeprefix("engine/")), path)
    return found


def finds_what_is_wrong() -> None:
    """The check itself, on a tree with one include upwards in the library and one in the engine."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        files = {
            "include/espalier/core/error.hpp": '#include "espalier/device/device.hpp"\n',
            "include/espalier/device/device.hpp": '#include "espalier/core/error.hpp"\n#include <vector>\n',
            "src/engine/types.hpp": "",
            "src/engine/expr/expr.hpp": '#include "engine/types.hpp"\n#include "engine/sql/binder.hpp"\n',
            "src/engine/sql/binder.hpp": '#include "engine/expr/expr.hpp"\n#include "fmt/format.h"\n',
            "src/garden/rose.hpp": '#include "espalier/core/error.hpp"\n',
        }
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        got = problems(root)
        expected = ["include/espalier/core/error.hpp (core)", "src/engine/expr/expr.hpp (expr)", "src/garden/rose.hpp: "]
        assert len(got) == len(expected) and all(g.startswith(e) for g, e in zip(got, expected)), got


def main() -> int:
    finds_what_is_wrong()
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2]).resolve()
    found = problems(root)
    for line in found:
        print(line)
    print(f"{len(found)} includes that point upwards" if found else "Includes point downwards.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
