#!/usr/bin/env python3
"""The code blocks of README.md and docs/: what a page shows compiles, runs and gives the answers in its comments.

usage: blocks.py check              every python, cpp and sql block says how it is tested; examples equal their files;
                                    scripts of the repository that a page starts can be started and have the options
                                    that it shows; a design page is read in five minutes
       blocks.py cpp FOLDER         writes a program for each cpp block that is compiled (tests/CMakeLists.txt)
       blocks.py run ESPALIER       runs the sql blocks of each page, and its commands, with this program; the commands
                                    and options of espalier that blocks show exist
       blocks.py link PREFIX [CUDA] the first program of README.md with the command that stands below it, against the
                                    library installed in PREFIX, and the answer that it prints; CUDA: the folder of nvcc
                                    if the library has the GPU side

python/tests/test_documentation.py runs the python blocks, with the wheel installed.

A comment directly in front of a block says what a reader does not need to see. Pages of the site leave it out.

    <!-- compiled -->               cpp: a program. With text, the text is around the block, which stands at @;
                                    lines with #include go to the top
    <!-- same as FILE -->           cpp: FILE without its first line, which is compiled elsewhere
    <!-- before: sql ... -->        sql: statements that run before this block; python: lines, with "before: python"
    <!-- run -->                    commands of a shell: run in an empty folder, `espalier` is the program
    <!-- not run: REASON -->
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LONGEST_DESIGN_PAGE = 1250  # words without tables and pictures: five minutes at 250 a minute


@dataclasses.dataclass
class Block:
    page: str
    line: int
    language: str
    mark: str  # the comment in front, without <!-- and -->
    text: str

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def before(self) -> str:
        """Lines that run before the block."""
        head, _, rest = self.mark.partition("\n")
        return rest + "\n" if head.startswith("before:") else ""


def pages() -> list[pathlib.Path]:
    return [ROOT / "README.md", *sorted(p for p in (ROOT / "docs").rglob("*.md") if "tutorials" not in p.parts)]


def blocks_of(page: pathlib.Path) -> list[Block]:
    """Fences of directives, such as {literalinclude}, are no blocks of code."""
    found, fence, mark = [], None, []
    in_comment, after_comment = False, False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if fence:
            if line.rstrip() == fence[0]:
                if re.fullmatch(r"\w*", fence[2]):
                    text = "".join(f"{one}\n" for one in fence[4])
                    found.append(Block(str(page.relative_to(ROOT)), fence[1], fence[2], fence[3], text))
                fence = None
            else:
                fence[4].append(line)
        elif in_comment or line.startswith("<!--"):
            mark = [*mark, line] if in_comment else [line]
            in_comment = not line.endswith("-->")
            after_comment = not in_comment
        elif opens := re.match(r"(```+|~~~+) *(.*)", line):
            comment = "\n".join(mark).removeprefix("<!--").removesuffix("-->").strip() if after_comment else ""
            fence, after_comment = (opens[1], number, opens[2].strip(), comment, []), False
        else:
            after_comment = False
    return found


def all_blocks() -> list[Block]:
    return [block for page in pages() for block in blocks_of(page)]


def check() -> int:
    wrong = []
    for block in all_blocks():
        mark = block.mark.partition("\n")[0]
        if block.language == "cpp" and mark.startswith("same as "):
            shown = (ROOT / mark.removeprefix("same as ")).read_text().partition("\n")[2]
            if shown != block.text:
                wrong.append(f"{block.place}: differs from {mark.removeprefix('same as ')}")
        elif block.language == "cpp" and mark != "compiled" and not mark.startswith("not run: "):
            wrong.append(f"{block.place}: needs <!-- compiled -->, <!-- same as FILE --> or <!-- not run: ... -->")
        elif block.language in ("python", "sql") and mark and not re.match(r"before: \w+$|not run: .", mark):
            wrong.append(f"{block.place}: '{mark}' says nothing to tests/docs/blocks.py")
    for page in [*pages(), ROOT / "CONTRIBUTING.md", ROOT / "ARCHITECTURE.md"]:
        for block in blocks_of(page):
            # A line that begins with a path: files of build/ and of the reader are not here.
            for name in re.findall(r"^([\w.-]+(?:/[\w.-]+)+)(?= |$)", block.text, re.MULTILINE):
                if (ROOT / name).is_file() and not name.startswith("build/") and not os.access(ROOT / name, os.X_OK):
                    wrong.append(f"{block.place}: {name} cannot be started; its mode lacks x")
    for place, command in commands(r"(?:^|\| )(scripts/[\w-]+ .*)"):
        script, *options = command.split()
        known = subprocess.run([ROOT / script, "--help"], capture_output=True, text=True, check=True).stdout
        wrong += [f"{place}: {script} has no {o}" for o in options if o.startswith("--") and o not in known]
    for page in sorted((ROOT / "docs" / "design").glob("*.md")):
        prose = re.sub(r"^ *```.*?^ *```$|^ *\|.*?$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
        if (words := len(prose.split())) > LONGEST_DESIGN_PAGE:
            wrong.append(f"docs/design/{page.name}: {words} words, more than {LONGEST_DESIGN_PAGE}; cut it into two pages")
    print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
    return 1 if wrong else 0


def commands(pattern: str) -> list[tuple[str, str]]:
    """Place and text of commands in the blocks without a language, each on one line and without its comment."""
    found = []
    for page in [*pages(), ROOT / "CONTRIBUTING.md", ROOT / "ARCHITECTURE.md"]:
        for block in blocks_of(page):
            lines = re.sub(r"\\\n *", "", block.text) if block.language == "" else ""
            for line in lines.splitlines():
                if match := re.search(pattern, line.partition(" #")[0]):
                    found.append((block.place, match[1]))
    return found


def program_of(block: Block) -> str:
    """The block with its hidden surroundings as one source file, whose lines have the numbers of the page."""
    around = block.mark.partition("\n")[2]
    first, _, last = around.partition("@\n") if around else ("", "", "")
    lines = block.text.splitlines()
    top = [line for line in lines if line.startswith("#include")] if around else []
    body = ["" if line in top else line for line in lines]
    return "\n".join([*top, first, f'#line {block.line + 1} "{ROOT / block.page}"', *body, "#line 1", last, ""])


def write_programs(folder: pathlib.Path) -> int:
    """Prints the names, one a line. A file that is as it should be is not touched."""
    folder.mkdir(parents=True, exist_ok=True)
    number: dict[str, int] = {}
    for block in all_blocks():
        if block.language == "cpp" and block.mark.partition("\n")[0] == "compiled":
            number[block.page] = number.get(block.page, 0) + 1
            name = re.sub(r"\W+", "_", f"{block.page.removesuffix('.md')}_{number[block.page]}") + ".cpp"
            path, text = folder / name, program_of(block)
            if not path.exists() or path.read_text() != text:
                path.write_text(text)
            print(path)
    return 0


def run_sql(program: str, page: pathlib.Path) -> list[str]:
    statements = [
        block.before + block.text.rstrip() + ("" if re.search(r";[^;\n]*$", block.text.rstrip()) else ";") + "\n"
        for block in blocks_of(page)
        if block.language == "sql" and not block.mark.startswith("not run")
    ]
    if not statements:
        return []
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder) / "page.sql"
        script.write_text("".join(statements))
        done = subprocess.run([program, "sql", script.name], cwd=folder, capture_output=True, text=True)
    print(done.stdout)
    return [f"{page.relative_to(ROOT)}: {done.stderr.strip()}"] if done.returncode != 0 else []


def run_commands(program: str, block: Block) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        tools = pathlib.Path(folder) / "bin"
        tools.mkdir()
        (tools / "espalier").symlink_to(program)
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block.text],
            cwd=folder,
            env=os.environ | {"PATH": f"{tools}:{os.environ['PATH']}"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
    print(done.stdout)
    return [f"{block.place}: {done.stderr.strip()}"] if done.returncode != 0 else []


def unknown_options(program: str) -> list[str]:
    """Commands and options of espalier that its help does not have."""
    wrong, helped = [], {}
    shown = commands(r"(?:^|\| )(?:build/\w+/)?espalier ([a-z].*)")
    assert len(shown) > 10, f"only {len(shown)} commands of espalier are found"
    for place, command in shown:
        words = re.split(r" [<>|&;]+ ", command.replace("[", " ").replace("]", " "))[0].split()
        names = []
        for word in words:
            if not re.fullmatch(r"[a-z-]+", word) or word.startswith("-"):
                break
            names.append(word)
        while names:  # words behind a subcommand may be arguments: its help is the longest that exists
            if tuple(names) not in helped:
                done = subprocess.run([program, *names, "--help"], capture_output=True, text=True)
                helped[tuple(names)] = done.stdout if done.returncode == 0 else None
            if helped[tuple(names)] is not None:
                break
            names.pop()
        if not names:
            wrong.append(f"{place}: espalier has no {words[0]}")
            continue
        options = {w.partition("=")[0] for w in words if w.startswith("--")}
        missing = [o for o in sorted(options) if not re.search(rf"{o}\b", helped[tuple(names)])]
        wrong += [f"{place}: espalier {' '.join(names)} has no {o}" for o in missing]
    return wrong


def link(prefix: str, cuda: str) -> int:
    """What a reader of the first page does behind cmake --install."""
    (program,) = [b for b in blocks_of(ROOT / "README.md") if b.language == "cpp" and "// sum.cpp" in b.text]
    (answer,) = re.findall(r"std::cout .*// (\d+)$", program.text, re.MULTILINE)
    (command,) = [c for place, c in commands(r"^(g\+\+ .*sum\.cpp.*)") if place.startswith("README.md")]
    if cuda:
        ((_, more),) = re.findall(r"^# with the (GPU side), .* behind that: (.*)$", (ROOT / "docs/cpp.md").read_text(), re.M)
        more = more.replace("/usr/local/cuda/lib64", f"{cuda}/../lib64")
        command = command.replace(" && ", f" {more} && ")
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "sum.cpp").write_text(program.text)
        command = command.replace("~/opt/espalier", prefix)
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=folder, stdout=subprocess.PIPE, text=True)
    if done.returncode == 0 and done.stdout.split() != [answer]:
        print(f"README.md: sum.cpp prints {done.stdout!r}, and its comment says {answer}", file=sys.stderr)
        return 1
    return done.returncode


def run(program: str) -> int:
    wrong = unknown_options(program)
    for page in pages():
        wrong += run_sql(program, page)
    for block in all_blocks():
        if block.language == "" and block.mark == "run":
            wrong += run_commands(program, block)
    print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
    return 1 if wrong else 0


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = arguments.add_subparsers(dest="command", required=True)
    verbs.add_parser("check")
    verbs.add_parser("cpp").add_argument("folder", type=pathlib.Path)
    verbs.add_parser("run").add_argument("program")
    link_command = verbs.add_parser("link")
    link_command.add_argument("prefix")
    link_command.add_argument("cuda", nargs="?", default="")
    options = arguments.parse_args()
    if options.command == "cpp":
        return write_programs(options.folder)
    if options.command == "link":
        return link(options.prefix, options.cuda)
    return check() if options.command == "check" else run(str(pathlib.Path(options.program).resolve()))


if __name__ == "__main__":
    sys.exit(main())
