"""The wheel as it is handed out. ESPALIER_WHEEL names it; scripts/test and scripts/wheel set it."""

import email
import importlib.metadata
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import venv
import zipfile

import pytest

if not os.environ.get("ESPALIER_WHEEL"):
    pytest.skip("ESPALIER_WHEEL does not name a wheel", allow_module_level=True)
WHEEL = pathlib.Path(os.environ["ESPALIER_WHEEL"])
LIMIT = 80 << 20
# What every Linux has that a manylinux tag stands for.
OF_THE_SYSTEM = re.compile(r"(lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s)|ld-linux-[a-z0-9-]+)\.so\.\d+")
OF_PYARROW = re.compile(r"lib(arrow|arrow_compute|parquet)\.so\.\d+")


@pytest.fixture(scope="module")
def files():
    with zipfile.ZipFile(WHEEL) as wheel:
        return {name: wheel.read(name) for name in wheel.namelist()}


@pytest.fixture(scope="module")
def dynamic(files):
    """Name in the wheel -> (soname, names of the libraries that are needed) of each shared object."""
    elffile = pytest.importorskip("elftools.elf.elffile")
    found = {}
    for name, data in files.items():
        if ".so" not in pathlib.Path(name).suffixes:
            continue
        tags = list(elffile.ELFFile(io.BytesIO(data)).get_section_by_name(".dynamic").iter_tags())
        soname = next((tag.soname for tag in tags if tag.entry.d_tag == "DT_SONAME"), None)
        found[name] = soname, [tag.needed for tag in tags if tag.entry.d_tag == "DT_NEEDED"]
    return found


def metadata(files, name):
    return email.message_from_bytes(next(data for file, data in files.items() if file.endswith(f".dist-info/{name}")))


def test_one_wheel_for_every_python(files):
    """cp310-abi3, which no interpreter without the GIL takes."""
    tags = pytest.importorskip("packaging.tags")
    written = {tag for line in metadata(files, "WHEEL").get_all("Tag") for tag in tags.parse_tag(line)}
    assert {(tag.interpreter, tag.abi) for tag in written} == {("cp310", "abi3")}
    assert WHEEL.name.split("-")[2:4] == ["cp310", "abi3"]
    platforms = [tag.platform for tag in written]
    for minor in (10, 11, 14):
        assert written & set(tags.cpython_tags((3, minor), [f"cp3{minor}"], platforms))
    for minor in (13, 14):
        assert not written & set(tags.cpython_tags((3, minor), [f"cp3{minor}t"], platforms))
    assert not written & set(tags.cpython_tags((3, 9), ["cp39"], platforms))


def test_stable_abi():
    pytest.importorskip("abi3audit")
    done = subprocess.run(
        [sys.executable, "-m", "abi3audit", "--strict", "--report", WHEEL], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "_core.abi3.so" in done.stdout  # it was looked at


def test_size():
    assert WHEEL.stat().st_size < LIMIT


def test_what_is_inside(files):
    for name in ("_core.abi3.so", "_core.pyi", "py.typed", "__init__.py"):
        assert f"espalier/{name}" in files
    inside = [name for name in files if name.startswith("espalier/")]
    assert not [name for name in inside if re.search(r"\.(a|o|cpp|hpp|cu)$|__pycache__|/tests/", name)]
    assert any(name.endswith("/licenses/LICENSE") for name in files)


def test_libraries(dynamic):
    """Highway and oneTBB are inside, under names of their own, and nothing else but the system's and pyarrow's is
    needed: no driver and no CUDA runtime."""
    inside = {soname: name for name, (soname, _) in dynamic.items() if name.startswith("espalier/_libs/")}
    assert all(name == f"espalier/_libs/{soname}" for soname, name in inside.items())
    for library in ("libtbb", "libhwy"):
        ours = [soname for soname in inside if soname.startswith(f"{library}-espalier.so.")]
        assert len(ours) == 1 and ours[0] in dynamic["espalier/_core.abi3.so"][1]
    for name, (_, needed) in dynamic.items():
        foreign = [n for n in needed if n not in inside and not OF_THE_SYSTEM.fullmatch(n)]
        if name == "espalier/_sql.abi3.so":  # espalier/sql.py loads pyarrow's
            foreign = [n for n in foreign if not OF_PYARROW.fullmatch(n)]
        assert foreign == [], name


def test_platform():
    """But for pyarrow's libraries, auditwheel gives the wheel a manylinux tag. `auditwheel repair` writes this tag if
    these libraries are excluded; a wheel has the tag linux before that."""
    pytest.importorskip("auditwheel")
    done = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", "--json", WHEEL], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert all(OF_PYARROW.fullmatch(name) for name in found["external_libs"])
    assert found["sym_tag"].startswith("manylinux_")
    processor = found["sym_tag"].split("_", 3)[3]
    assert WHEEL.stem.split("-")[4] in (found["sym_tag"], f"linux_{processor}")


def test_answers_with_what_it_requires(files, tmp_path):
    """In a virtual environment with the wheel and the packages that it names, NumPy among them, and no others."""
    lines = metadata(files, "METADATA").get_all("Requires-Dist")
    required = [re.match(r"[\w-]+", line)[0] for line in lines if "extra" not in line]
    assert sorted(required) == ["nanobind-backend", "numpy"]
    venv.create(tmp_path / "venv", with_pip=False)
    python = tmp_path / "venv" / "bin" / "python"
    packages = next((tmp_path / "venv" / "lib").glob("python3*/site-packages"))
    with zipfile.ZipFile(WHEEL) as wheel:
        wheel.extractall(packages)
    for name in required:
        distribution = importlib.metadata.distribution(name)
        # A package of Debian does not say which files it has.
        module = name.replace("-", "_")
        files_of = distribution.files or [pathlib.PurePath(module)]
        for top in {file.parts[0] for file in files_of if file.parts[0] != ".."}:
            (packages / top).symlink_to(distribution.locate_file(top))
    code = """if True:
        import sys
        import numpy as np
        import espalier as es
        ix = es.Index(np.array([30, 10, 20]), values=np.array([3.0, 1.0, 2.0]), keep="sum")
        assert ix.searchsorted([10, 25]).tolist() == [0, 2] and ix.sum(10, 20) == 3.0
        assert es.Index(["a.org/x", "b.org"]).prefix("a.org/").tolist() == [0]
        m = es.SortedMap("u8", "f8")
        m.update([42, 7], [4.2, 0.7])
        assert list(m) == [7, 42] and m[42] == 4.2
        import espalier.joins, espalier.prepared
        try:
            es.sql
        except ImportError as error:
            assert "pyarrow" in str(error), error
        else:
            raise AssertionError("there is no pyarrow here")
        assert not {"pandas", "polars", "pyarrow"} & set(sys.modules)
        assert all("site-packages" not in p or p.startswith(sys.prefix) for p in sys.path)
        print(es.__file__)
    """
    environment = {"PATH": os.environ["PATH"]}
    done = subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert pathlib.Path(done.stdout.strip()).is_relative_to(packages)
