"""Lays out what Sphinx reads: the pages of the repository at their own paths, and those made from sources.

usage: stage.py OUT [--espalier PROGRAM]

Pages keep their paths, so links between them are valid as they are. A link to another file of the repository becomes a
download; one to README.md, to a folder with a page of its own, or to nothing is handled here: a dead link is an error.
Made pages: the first page and the figures from README.md, the reference of Python from python/espalier, of C++ from a
list of classes, of the command line from `espalier --help`, the list of examples, the list of design pages.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

SITE = pathlib.Path(__file__).resolve().parent
ROOT = SITE.parent.parent
# Folders that have a page in the site.
FOLDERS = {name: f"{name}/index.md" for name in ("examples", "docs/design", "bench/results")}

# The public classes and functions of the library by header group.
CPP = [
    ("Static tree", "static_tree/", ["static_tree", "static_tree_ref", "build_options", "query_options", "range_options",
                                     "tree_stats", "explanation"]),
    ("B-link tree", "blink_tree/", ["blink_tree", "blink_tree_ref", "blink_options", "blink_stats"]),
    ("Radix tree", "radix_tree/", ["radix_tree", "radix_tree_ref", "radix_options", "radix_stats"]),
    ("Hybrid tree", "hybrid_tree/", ["hybrid_tree", "hybrid_options", "hybrid_query_options", "hybrid_stats"]),
    ("Bulk calls of several trees", "index/", ["bulk_reads", "bulk_writes", "bulk_map_writes"]),
    ("Reads of single keys", "index/", ["single_key_reads", "single_key_map_writes"]),
    ("Joins", "join/", ["asof_join", "asof_options", "asof_direction", "prepared_side", "window_bounds", "prepared_spans",
                        "group_encoder", "by_column", "column_view"]),
    ("Devices", "device/", ["device", "stream", "memory_resource", "buffer", "to_device"]),
    ("Keys and errors", "core/", ["byte_key_columns", "error", "error_kind", "out_of_memory", "overflow"]),
    ("SQL", "engine/", ["engine::database", "engine::prepared", "engine::database_options", "engine::query_result",
                        "engine::sql_error"]),
]  # fmt: skip


class DeadLink(Exception):
    pass


def pages() -> list[str]:
    found = ["ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"]
    found += [str(p.relative_to(ROOT)) for p in sorted((ROOT / "docs").rglob("*.md")) if SITE not in p.parents]
    found += [str(p.relative_to(ROOT)) for p in sorted((ROOT / "bench/results").glob("*/tables.md"))]
    return [page for page in found if (ROOT / page).exists()]


def outside_code(text: str, change) -> str:
    """Applies `change` to the lines that are not in a fence."""
    out, fence = [], None
    for line in text.splitlines(keepends=True):
        if mark := re.match(r"\s*(```+|~~~+)", line):
            if fence is None:
                fence = mark[1]
            elif line.strip() == fence:
                fence = None
        out.append(line if fence or mark else change(line))
    return "".join(out)


class Stage:
    def __init__(self, out: pathlib.Path, program: str | None):
        self.out, self.program, self.dead = out, program, []
        self.pages = set(pages()) | set(FOLDERS.values()) | {"measured.md"}

    def write(self, page: str, text: str) -> None:
        path = self.out / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def copy_file(self, name: str) -> None:
        target = self.out / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target)

    def link(self, page: str, address: str) -> str:
        """The address as the site has it."""
        path, hash_mark, anchor = address.partition("#")
        if not path or re.match(r"[a-z]+:", address):
            return address
        name = os.path.normpath(os.path.join(os.path.dirname(page), path))
        if name in FOLDERS:
            name = FOLDERS[name]
        elif name == "README.md":
            name = "measured.md" if anchor == "measured" else "index.md"  # its parts are pages here
            hash_mark = anchor = ""
        elif re.fullmatch(r"bench/results/[\w-]+/part-[\w-]+\.md", name):
            name = os.path.dirname(name) + "/tables.md"  # has the tables of all parts
        elif name not in self.pages:
            if not (ROOT / name).is_file():
                raise DeadLink(f"{page}: the link to {address} leads to nothing")
            self.copy_file(name)
        return os.path.relpath(name, os.path.dirname(page) or ".") + hash_mark + anchor

    def page(self, name: str) -> None:
        """A page of the repository."""
        self.write(name, self.staged(name, (ROOT / name).read_text()))

    def staged(self, name: str, text: str) -> str:
        """Markdown as the site needs it, its comments for tests left out."""
        text = re.sub(r"^<!--.*?-->\n", "", text, flags=re.DOTALL | re.MULTILINE)

        def change(found: re.Match) -> str:
            try:
                return f"{found[1]}({self.link(name, found[2])})"
            except DeadLink as dead:
                self.dead.append(str(dead))
                return found[0]

        # Sphinx has a switch for light and dark, where Markdown elsewhere asks the browser. On a phone a plot keeps the
        # size of its words and is moved sideways in its box.
        text = re.sub(
            r'<picture>\n +<source [^>]*srcset="([^"]+)">\n +<img alt="([^"]*)" src="([^"]+)">\n</picture>',
            r":::{container} plot\n```{image} \3\n:class: only-light\n:alt: \2\n```\n```{image} \1\n:class: only-dark\n"
            r":alt: \2\n```\n:::",
            text,
        )
        # Link texts may be broken over two lines; the address never is.
        text = outside_code(text, lambda line: re.sub(r"(\])\(([^()\s]+)\)", change, line))
        for included in re.findall(r"^```\{literalinclude\} (\S+)", text, re.MULTILINE):
            self.copy_file(os.path.normpath(os.path.join(os.path.dirname(name), included)))
        return text

    def first_page(self) -> None:
        """The first screen of README.md, up to the links that docs/site/index.md has instead."""
        first_screen, mark, _ = (ROOT / "README.md").read_text().partition("**Next:**")
        assert mark, "README.md has no paragraph that begins with **Next:**"
        self.write("index.md", self.staged("index.md", first_screen) + (SITE / "index.md").read_text())

    def measured(self) -> None:
        """The figures of README.md."""
        _, mark, figures = (ROOT / "README.md").read_text().partition("\n## Measured\n")
        assert mark, "README.md has no section Measured"
        figures = figures.partition("\n## ")[0].replace("\n### ", "\n## ")
        self.write("measured.md", "# Measured\n" + self.staged("measured.md", figures) + "\n")

    def toctree(self, entries: list[str]) -> str:
        return "```{toctree}\n:maxdepth: 1\n\n" + "\n".join(entries) + "\n```\n"

    def lists(self) -> None:
        have = lambda *names: [f"/{n.removesuffix('.md')}" for n in names if n in self.pages]  # noqa: E731
        design = sorted(n for n in self.pages if n.startswith("docs/design/") and n != "docs/design/index.md")
        self.write(
            "docs/design/index.md",
            "# Design pages\n\nIdea, picture, invariants, limits, figures with date, commit and command, and the "
            "alternatives that lost.\n\n" + self.toctree(have(*design)),
        )
        self.write("docs/tutorials/index.md", "# Tutorials\n\nEach of these pages is a notebook that ran when the site "
                   "was built.\n\n" + self.toctree(have(*(f"docs/tutorials/{n}.md" for n in ("ranges", "joins", "sql",
                                                                                            "maps", "gpu",
                                                                                            "cluster")))))  # fmt: skip
        howto = [*(f"docs/howto/{n}.md" for n in ("as-of", "windows", "sql", "larger-than-gpu", "own-kernel", "cluster")),
                 "docs/cpp.md",
                 "docs/python.md", "docs/python-joins.md", "docs/python-sql.md", "docs/sql.md", "docs/cluster.md",
                 "docs/explorer.md", "docs/dependencies.md"]  # fmt: skip
        self.write("docs/howto/index.md", "# How to\n\n" + self.toctree(have(*howto) + ["/examples/index"]))
        self.write(
            "reference/index.md",
            "# Reference\n\n"
            + self.toctree(
                ["/reference/python", "/reference/cpp", "/reference/cli"]
                + have("docs/sql-language.md", "docs/file-format.md", "docs/trace-format.md", "docs/explorer-api.md")
            ),
        )
        measured = sorted(n for n in self.pages if n.startswith("bench/results/") and n.endswith("tables.md"))
        pages = ["/measured", *have("ARCHITECTURE.md", "docs/comparison.md", "docs/bench.md")]
        pages += ["/docs/design/index", "/bench/results/index", *have(*measured)]
        self.write("explanation/index.md", "# Explanation\n\n" + self.toctree(pages))
        self.write("project/index.md", "# Project\n\n" + self.toctree(
            have("CONTRIBUTING.md", "docs/development.md", "CHANGELOG.md", "SECURITY.md")))  # fmt: skip
        # Pages that belong to no list would be found by the search alone: an error of Sphinx.

    def runs(self) -> None:
        """One row for each file of results: what a figure's file says about itself."""
        out = [
            "# Runs\n",
            "The files of `bench/results`. A command repeats its run and checks all answers. Before 2026-11-18 `espalier "
            "bench static`, `blink`, `radix` and `hybrid` were spelled `--index NAME`, and `bench papers NAME` and `bench "
            "query` were `--suite NAME`.\n",
            "| file | date, commit | machine | command |",
            "|---|---|---|---|",
        ]
        for path in sorted((ROOT / "bench/results").rglob("*.json")):
            data = json.loads(path.read_text())
            if "rows" not in data:
                continue
            name = str(path.relative_to(ROOT / "bench/results"))
            machine = data["machine"]
            if not isinstance(machine, str):
                gpus = "".join(f", {g['name']}" for g in machine.get("gpus", [])[:1])
                machine = f"{machine['cpu'].replace('(R)', '')}, {machine['cores']} cores{gpus}"
            commit = data["commit"][:7] + (" with local changes" if data["commit"].endswith("-dirty") else "")
            date = data["date"][:10].replace("-", "\N{NON-BREAKING HYPHEN}")
            out.append(f"| [{name.removesuffix('.json')}]({name}) | {date}, {commit} | {machine} | "
                       f"`{data['command']}` |")  # fmt: skip
            self.copy_file(f"bench/results/{name}")
        self.write("bench/results/index.md", "\n".join(out) + "\n")

    def examples(self) -> None:
        out = ["# Examples\n", "Programs of at most 60 lines. Each is compiled and run by the tests.\n"]
        for path in sorted((ROOT / "examples").glob("*.c*")):
            if path.suffix not in (".cpp", ".cu"):
                continue
            self.copy_file(f"examples/{path.name}")
            lines = path.read_text().splitlines()
            about = []
            for line in lines:
                if not line.startswith("//"):
                    break
                about.append(line.removeprefix("//").strip())
            words = " ".join(about).partition(" - ")[2]
            out.append(f"## {path.name}\n\n{words[:1].upper()}{words[1:]}\n")
            out.append(f"```{{literalinclude}} {path.name}\n:language: cpp\n:lines: {len(about) + 1}-\n```\n")
        self.write("examples/index.md", "\n".join(out))

    def command_line(self) -> None:
        out = ["# Command line\n"]
        if self.program is None:
            out.append("The program was not built when this site was; `espalier --help` says what is here.\n")
        else:
            for words in self.commands():
                helped = self.help(words)
                out.append(f"## {' '.join(['espalier', *words])}\n\n```text\n{helped}\n```\n")
        self.write("reference/cli.md", "\n".join(out))

    def help(self, words: list[str]) -> str:
        done = subprocess.run([self.program, *words, "--help"], capture_output=True, text=True, check=True,
                              env=os.environ | {"COLUMNS": "100"})  # fmt: skip
        # The path of the program is that of this machine.
        return done.stdout.replace(self.program, "espalier").replace("\t", "  ").strip()

    def commands(self, words: tuple[str, ...] = ()) -> list[list[str]]:
        """The commands in the order of the help, each followed by its own."""
        found = [list(words)]
        section = re.search(r"^(?:Subcommands|SUBCOMMANDS):\n(.*?)(?:\n\n|\Z)", self.help(list(words)),
                            re.DOTALL | re.MULTILINE)  # fmt: skip
        for name in re.findall(r"^  (\w[\w-]*)", section[1], re.MULTILINE) if section else []:
            found += self.commands((*words, name))
        return found

    def cpp(self) -> None:
        xml = pathlib.Path(os.environ["ESPALIER_DOXYGEN_XML"])
        names = ("namespaceespalier.xml", "namespaceespalier_1_1engine.xml")
        namespaces = "".join((xml / name).read_text() for name in names)
        out = [
            "# C++ and CUDA\n",
            "From the comments of the headers in `include/espalier`. A guide with programs: {doc}`/docs/cpp`.\n",
        ]
        for title, folder, names in CPP:
            out.append(f"## {title}\n\nHeaders: `espalier/{folder}`\n\n```{{eval-rst}}")
            for name in names:
                file_name = "espalier::" + name
                mangled = file_name.replace("_", "__").replace("::", "_1_1")
                if (xml / f"class{mangled}.xml").exists():
                    out.append(f".. doxygenclass:: {file_name}\n   :members:\n")
                elif (xml / f"struct{mangled}.xml").exists():
                    out.append(f".. doxygenstruct:: {file_name}\n   :members:\n")
                elif f"<definition>enum class {file_name}</definition>" in namespaces or re.search(
                    rf'<memberdef kind="enum"(?:(?!</memberdef>).)*?<name>{name.rpartition("::")[2]}</name>',
                    namespaces, re.DOTALL,
                ):  # fmt: skip
                    out.append(f".. doxygenenum:: {file_name}\n")
                elif re.search(rf">\s*{name}</name>|<name>{name}</name>", namespaces):
                    out.append(f".. doxygenfunction:: {file_name}\n")
                else:
                    self.dead.append(f"docs/site/stage.py: no comment of {file_name} in include/espalier")
            out.append("```\n")
        self.write("reference/cpp.md", "\n".join(out))

    def python(self) -> None:
        out = ["# Python\n", "From `python/espalier`. Guides: {doc}`/docs/python`, {doc}`/docs/python-joins`, "
               "{doc}`/docs/python-sql`, {doc}`/docs/cluster`.\n"]  # fmt: skip
        for title, module, file_name, names in [
            ("Indexes", "espalier", "_index.py", ["Index", "open"]),
            ("Maps", "espalier", "_sorted_map.py", ["SortedMap"]),
            ("Joins of frames", "espalier", "joins.py", ["join_asof", "join_window", "join_between", "join_overlaps",
                                                         "prepare", "open_prepared", "Prepared"]),
            ("pandas", "espalier.pandas", "pandas.py", ["merge_asof"]),
            ("SQL", "espalier.sql", "sql.py", ["connect", "Connection", "Result", "Error"]),
            ("Range shards", "espalier.ray", "ray/__init__.py", ["build", "open", "Table", "join_asof", "join_window",
                                                                 "join_between", "count_between"]),
        ]:  # fmt: skip
            out.append(f"## {title}\n")
            for name in names:
                node = self.find(name, ROOT / "python/espalier" / file_name)
                if node is None:
                    self.dead.append(f"docs/site/stage.py: python/espalier/{file_name} has no {name}")
                else:
                    out.append(self.describe(node, module))
        self.write("reference/python.md", "\n".join(out))

    def find(self, name: str, path: pathlib.Path) -> ast.AST | None:
        """A class or function; one that a module imports from a sibling is looked for there."""
        tree = ast.parse(path.read_text())
        for node in tree.body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name:
                return node
            if isinstance(node, ast.ImportFrom) and node.level == 1 and any(a.name == name for a in node.names):
                return self.find(name, path.parent / f"{node.module}.py")
        return None

    def methods(self, node: ast.ClassDef) -> list[ast.FunctionDef]:
        """Its own public ones and those of bases in this package."""
        found = {}
        for base in node.bases:
            for path in (ROOT / "python/espalier").rglob("*.py"):
                tree = ast.parse(path.read_text())
                for other in tree.body:
                    if isinstance(other, ast.ClassDef) and isinstance(base, ast.Name) and other.name == base.id:
                        found |= {m.name: m for m in self.methods(other)}
        for m in node.body:
            if isinstance(m, ast.FunctionDef) and (not m.name.startswith("_") or m.name in ("__init__",)):
                if not any(isinstance(d, ast.Name) and d.id == "overload" for d in m.decorator_list):
                    found[m.name] = m
        return list(found.values())

    def describe(self, node: ast.AST, module: str, indent: str = "") -> str:
        is_class = isinstance(node, ast.ClassDef)
        lines = ["```{eval-rst}"]

        def add(kind: str, name: str, function: ast.FunctionDef | None, text: str | None, depth: str, extra: str = ""):
            signature = ""
            if function is not None:
                args = function.args
                if depth and args.args:  # self
                    args = ast.parse(f"def f({ast.unparse(args)}): pass").body[0].args
                    args.args = args.args[1:]
                returns = f" -> {ast.unparse(function.returns)}" if function.returns and kind != "class" else ""
                signature = f"({ast.unparse(args)}){returns}".replace("\n", " ")
            lines.append(f"{depth}.. py:{kind}:: {name}{signature}")
            if not depth:
                lines.append(f"{depth}   :module: {module}")
            if extra:
                lines.append(f"{depth}   {extra}")
            lines.append("")
            for line in rst(text or "").splitlines():
                lines.append(f"{depth}   {line}".rstrip())
            lines.append("")

        if not is_class:
            add("function", node.name, node, ast.get_docstring(node), "")
        else:
            methods = self.methods(node)
            init = next((m for m in methods if m.name == "__init__"), None)
            text = ast.get_docstring(node) or (init and ast.get_docstring(init))
            if init is not None:
                init = ast.parse(ast.unparse(init)).body[0]
                init.args.args = init.args.args[1:]
            add("class", node.name, init, text, "")
            for m in methods:
                if m.name == "__init__":
                    continue
                decorators = {ast.unparse(d) for d in m.decorator_list}
                if "property" in decorators:
                    kind_of = f":type: {ast.unparse(m.returns)}" if m.returns else ""
                    add("property", m.name, None, ast.get_docstring(m), "   ", kind_of)
                else:
                    add("method", m.name, m, ast.get_docstring(m), "   ")
        return "\n".join([*lines, "```", ""])


def rst(text: str) -> str:
    """A docstring: plain text with `code` in single back ticks."""
    text = re.sub(r"(?<![`:\w])`([^`\n]+)`(?!`)", r"``\1``", text)
    # *word* is emphasis; an asterisk alone is one.
    return re.sub(r"(\*\w[\w ]*\*)|\*", lambda found: found[1] or r"\*", text)


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("out", type=pathlib.Path)
    arguments.add_argument("--espalier")
    options = arguments.parse_args()
    shutil.rmtree(options.out, ignore_errors=True)
    stage = Stage(options.out, options.espalier)
    shutil.copytree(ROOT / "docs/images", options.out / "docs/images")
    shutil.copytree(SITE / "_static", options.out / "_static")
    for name in pages():
        stage.page(name)
    stage.first_page()
    stage.measured()
    stage.runs()
    stage.examples()
    stage.lists()
    stage.command_line()
    stage.cpp()
    stage.python()
    print("\n".join(stage.dead), file=sys.stderr, end="\n" if stage.dead else "")
    return 1 if stage.dead else 0


if __name__ == "__main__":
    sys.exit(main())
