"""Sources of builds: files, folders, patterns, and URIs that pyarrow.fs reads."""

from __future__ import annotations

import http.server
import os
import re
import threading
import urllib.parse
import xml.sax.saxutils as xml

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import espalier.ray as er


@pytest.fixture
def files(tmp_path):
    """Files of 100 rows each, and what other programs leave next to them. Returns the folder and the rows of each."""
    folder, parts = tmp_path / "store" / "bucket" / "quotes", {}
    for i, name in enumerate(("a.parquet", "b.parquet", "2026/c.parquet", "2026/d.parquet")):
        rows = pa.table({"k": [(37 * n + i) % 400 for n in range(100)], "v": range(100 * i, 100 * i + 100)})
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows, path, row_group_size=30)
        parts[name] = rows
    for name in ("_temporary/e.parquet", ".f.parquet", "_SUCCESS", "notes.txt"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(b"incomplete")
    return folder, parts


def check(tmp_path, source, parts):
    """Tables of these sources have the rows of these files."""
    for number, (one, names) in enumerate(source.items()):
        expected = er.build(tmp_path / "expected", [parts[name] for name in names], "k", shards=1, replace=True)
        table = er.build(tmp_path / f"t{number}", one, "k", shards=3, values=["v"], piece_bytes=500, backend="local")
        assert table.range(None, None).equals(expected.range(None, None)), one


ALL = ["2026/c.parquet", "2026/d.parquet", "a.parquet", "b.parquet"]


def cases(place):
    return {
        f"{place}/b.parquet": ["b.parquet"],
        f"{place}/*.parquet": ["a.parquet", "b.parquet"],
        f"{place}/2026/*.parquet": ["2026/c.parquet", "2026/d.parquet"],
        f"{place}/*/c*.parquet": ["2026/c.parquet"],
        place: ALL,
        f"{place}/": ALL,
    }


def test_files_folders_and_patterns(files, tmp_path):
    folder, parts = files
    check(tmp_path, cases(str(folder)), parts)
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="no file matches"):
        er.build(tmp_path / "t", tmp_path / "empty", "k", shards=1)


def test_uris_of_files(files, tmp_path):
    folder, parts = files
    check(tmp_path, cases(f"file://{folder}"), parts)
    for missing in ("no.parquet", "no*.parquet", "no/*.parquet", "no"):
        with pytest.raises(FileNotFoundError, match=f"no file matches 'file://.*/{re.escape(missing)}'"):
            er.build(tmp_path / "t", f"file://{folder}/{missing}", "k", shards=1)
    with pytest.raises(ValueError, match="may have only [*]"):
        er.build(tmp_path / "t", f"file://{tmp_path}/**/*.parquet", "k", shards=1)
    with pytest.raises(ValueError, match="cannot read the URI of a source: .*nowhere"):
        er.build(tmp_path / "t", "nowhere://bucket/quotes", "k", shards=1)


def test_a_uri_is_refused_as_the_folder_of_a_table(files, tmp_path, monkeypatch):
    folder, parts = files
    monkeypatch.chdir(tmp_path)
    before = sorted(os.listdir())
    for uri in ("s3://bucket/q", f"file://{tmp_path}/t"):
        for call in (lambda: er.build(uri, parts["a.parquet"], "k", shards=1), lambda: er.open(uri)):
            with pytest.raises(ValueError, match=f"{uri}' is a URI.* give the path of a folder"):
                call()
    table = er.build("t", parts["a.parquet"], "k", shards=1, backend="local")
    with pytest.raises(ValueError, match="is a URI"):
        er.join_asof(table, table, on="k", into="s3://bucket/answer")
    assert sorted(os.listdir()) == sorted([*before, "t"])


class Store(http.server.BaseHTTPRequestHandler):
    """The part of the protocol of S3 that reading needs, over a folder."""

    root = ""

    def log_message(self, *_):
        pass

    def answer(self, status, body, headers=(), length=None):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        address = urllib.parse.urlsplit(self.path)
        options = dict(urllib.parse.parse_qsl(address.query, keep_blank_values=True))
        bucket, _, key = urllib.parse.unquote(address.path).lstrip("/").partition("/")
        path = os.path.join(self.root, bucket, key)
        if not key:
            return self.answer(200, self.listing(bucket, options), [("Content-Type", "application/xml")])
        if not os.path.isfile(path):
            return self.answer(404, b"" if self.command == "HEAD" else b"<Error><Code>NoSuchKey</Code></Error>")
        with open(path, "rb") as file:
            data = file.read()
        Store.read.add(key)
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if wanted is None:
            return self.answer(200, data, [("ETag", '"1"')])
        begin, end = int(wanted[1]), min(int(wanted[2]) + 1, len(data))
        self.answer(206, data[begin:end], [("Content-Range", f"bytes {begin}-{end - 1}/{len(data)}"), ("ETag", '"1"')])

    do_HEAD = do_GET

    def listing(self, bucket, options):
        folder, prefix = os.path.join(self.root, bucket), options.get("prefix", "")
        keys = [os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(folder) for name in names]
        keys = sorted(key for key in keys if key.startswith(prefix))
        below = [key[len(prefix) :].partition("/") for key in keys]
        folders = {first for first, slash, _ in below if slash} if options.get("delimiter") else set()
        made = [f"<CommonPrefixes><Prefix>{xml.escape(prefix + name)}/</Prefix></CommonPrefixes>" for name in folders]
        for key, (first, slash, _) in zip(keys, below):
            if not (slash and first in folders):
                size = os.path.getsize(os.path.join(folder, key))
                made.append(
                    f"<Contents><Key>{xml.escape(key)}</Key><Size>{size}</Size>"
                    "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
                )
        return f"<ListBucketResult><IsTruncated>false</IsTruncated>{''.join(made)}</ListBucketResult>".encode()


def test_uris_of_objects(files, tmp_path, monkeypatch):
    pytest.importorskip("pyarrow._s3fs")
    folder, parts = files
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "reader")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "unused")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setattr(Store, "root", str(folder.parent.parent))
    monkeypatch.setattr(Store, "read", set(), raising=False)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Store) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            options = f"?scheme=http&region=us-east-1&endpoint_override=127.0.0.1:{server.server_address[1]}"
            found = {one + options: names for one, names in cases("s3://bucket/quotes").items()}
            check(tmp_path, found, parts)
            assert Store.read == {f"quotes/{name}" for name in parts}
            with pytest.raises(FileNotFoundError, match="no file matches 's3://"):
                er.build(tmp_path / "t", f"s3://bucket/quotes/no*.parquet{options}", "k", shards=1)
        finally:
            server.shutdown()
            thread.join()
