"""Arrays that the command line of zarr-parts has written, each with a plain copy by `convert --plain`."""

import os
import re
import shlex
import subprocess
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote

import numpy as np
import obstore.store
import pytest
import zarr
from zarr.storage import FsspecStore, LocalStore, ObjectStore

ROOT = Path(__file__).parents[2]
COMMAND = shlex.split(os.environ.get("ZARR_PARTS_CLI", f"deno run -A {ROOT}/tools/run.ts run -A {ROOT}/src/cli/main.ts"))

SHARDS, ARRAYS = "shards.zarr", "arrays.zarr"

# The arguments of `convert` by the name of the array or group that it writes.
LAYOUTS = {
    "index": [SHARDS, "--suffix", ".shard", "--parts", ",.index"],
    "header": [SHARDS, "--suffix", ".bin", "--parts", ".header:10,,.index"],
    "sized": [SHARDS, "--parts", ".a:3,.b:0,,.c:70,.d:11"],
    "index_first": [f"{ARRAYS}/first", "--suffix", ".s", "--parts", ".index,"],
    "data_first": [f"{SHARDS}/raw", "--parts", ".data:40,.rest"],
    "checksum": [f"{ARRAYS}/plain", "--suffix", ".bin", "--parts", ",.crc32c"],
    "suffix": [ARRAYS, "--suffix", ".chunk"],
    "v2": [ARRAYS, "--encoding", "v2", "--suffix", ".x"],
    "dots": [ARRAYS, "--encoding", "default:."],
    "fanout": [ARRAYS, "--encoding", "fanout", "--suffix", ".y", "--parts", ".h:2,"],
    "template": [f"{ARRAYS}/plain", "--template", "tiles/row{0*-1+9:03}_column{1*2+1:04}.bin"],
    "tiff": [f"{SHARDS}/raw", "--container", "tiff", "--recode", "--suffix", ".tiff"],
    "zip": [SHARDS, "--container", "zip", "--suffix", ".zip"],
    "adopted": ["adopt"],
}


def run(*args: str | Path, cwd: Path) -> str:
    """Run the command line, and return what it prints."""
    done = subprocess.run([*COMMAND, *map(str, args)], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def make_sources(folder: Path) -> None:
    random = np.random.default_rng(32)
    numbers = (random.random((36, 41)) * 60).astype("int16")
    shards = zarr.open_group(folder / SHARDS, mode="w")
    shards.attrs["small"] = 0.00001
    arrays = zarr.open_group(folder / ARRAYS, mode="w")
    zstd = zarr.codecs.ZstdCodec()
    for name, options in {
        "zstd": {"compressors": zstd},
        "raw": {"compressors": None},
        "first": {"compressors": zstd, "shards": {"shape": (16, 16), "index_location": "start"}},
    }.items():
        group = arrays if name == "first" else shards
        array = group.create_array(name, shape=(36, 41), dtype="int16", chunks=(4, 8), **{"shards": (16, 16), **options})
        array[...] = numbers
        array[16:, 16:32] = 0  # Shards that are absent, or lack inner chunks.
        array[20, 20] = 5
    plain = {"compressors": [zarr.codecs.GzipCodec(), zarr.codecs.Crc32cCodec()]}
    arrays.create_array("plain", shape=(36, 41), dtype="int16", chunks=(16, 16), fill_value=7, **plain)[:30, :30] = numbers[:30, :30]
    arrays.create_array("raw", shape=(36, 41), dtype="int16", chunks=(8, 8), compressors=None)[...] = numbers
    arrays.create_array("deep/scalar", shape=(), dtype="float64", compressors=None)[...] = 3.5
    arrays.create_array("deep/strings", shape=(7,), dtype=str, chunks=(3,))[...] = np.array(["a", "bc", "dé", "", "x" * 40, "f", "g"])
    arrays.create_array("deep/cube", shape=(5, 6, 7), dtype=">f4", chunks=(2, 3, 4))[...] = random.random((5, 6, 7))
    zarr.consolidate_metadata(arrays.store_path.store)


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `NAME.zarr` and its plain copy `NAME.plain.zarr` for each name of `LAYOUTS`."""
    kept = os.environ.get("ZARR_PARTS_TEST_DATA")  # Of an earlier run, while the package is developed.
    if kept and (Path(kept) / "adopted.plain.zarr").exists():
        return Path(kept)
    folder = Path(kept) if kept else tmp_path_factory.mktemp("data")
    folder.mkdir(exist_ok=True)
    make_sources(folder)
    for name, (source, *options) in LAYOUTS.items():
        if source == "adopt":
            tiffs = sorted((ROOT / "tests/fixtures/tiffs").glob("row*.tif"))
            run("adopt", *tiffs, "--into", f"{name}.zarr", "--link", "--template", "row{0}_column{1}.tif", cwd=folder)
        else:
            run("convert", source, f"{name}.zarr", *options, cwd=folder)
        run("convert", f"{name}.zarr", f"{name}.plain.zarr", "--plain", cwd=folder)
    return folder


class Files(BaseHTTPRequestHandler):
    """A server of files that knows ranges, as nginx and buckets do."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = Path(unquote(self.path))
        content = path.read_bytes() if path.is_file() else b""
        start, end, status = 0, len(content), 200 if path.is_file() else 404
        if status == 200 and (found := re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))):
            first, last = found.groups()
            start = int(first) if first else max(end - int(last), 0)
            end = min(int(last) + 1, end) if first and last else end
            status = 206 if start < end else 416
        self.send_response(status)
        body = content[start:end] if status in (200, 206) else b""
        if status == 206:
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(content)}")
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@cache
def server() -> str:
    """Start a server of all files, and return its URL without a slash at the end."""
    started = ThreadingHTTPServer(("127.0.0.1", 0), Files)
    Thread(target=started.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{started.server_port}"


def open_below(kind: str, path: Path) -> zarr.abc.store.Store:
    """Open a store of zarr-python."""
    if kind == "local":
        return LocalStore(path, read_only=True)
    if kind == "obstore":
        return ObjectStore(obstore.store.LocalStore(path), read_only=True)
    if kind == "fsspec":
        return FsspecStore.from_url(f"file://{path}", read_only=True, storage_options={"auto_mkdir": False})
    if kind == "fsspec over HTTP":
        return FsspecStore.from_url(f"{server()}{path}", read_only=True)
    return ObjectStore(obstore.store.HTTPStore.from_url(f"{server()}{path}", client_options={"allow_http": True}), read_only=True)


FILES = ["local", "obstore", "fsspec"]


@pytest.fixture(params=FILES)
def below(request: pytest.FixtureRequest):
    """Opens a path by one of the stores of zarr-python that can list."""
    return lambda path: open_below(request.param, path)


@pytest.fixture(params=[*FILES, "fsspec over HTTP", "obstore over HTTP"])
def anywhere(request: pytest.FixtureRequest):
    """Opens a path by one of the stores of zarr-python."""
    return lambda path: open_below(request.param, path)


FUSED = "zarr.core.codec_pipeline.FusedCodecPipeline"


@pytest.fixture(params=["batched", "fused"])
def pipeline(request: pytest.FixtureRequest):
    """Reads by one of the codec pipelines of zarr-python."""
    if request.param == "batched":
        yield
        return
    if not hasattr(zarr.core.codec_pipeline, "FusedCodecPipeline"):
        pytest.skip("this version of zarr-python has one pipeline")
    with zarr.config.set({"codec_pipeline.path": FUSED}):
        yield
