"""Arrays that the command line of zarr-parts has written, each with a plain copy by `convert --plain`."""

import os
import shlex
import subprocess
from pathlib import Path

import numpy as np
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


def run(*args: str | Path, cwd: Path) -> None:
    done = subprocess.run([*COMMAND, *map(str, args)], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


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


def open_below(kind: str, path: Path) -> zarr.abc.store.Store:
    """Open a store of zarr-python."""
    if kind == "local":
        return LocalStore(path, read_only=True)
    if kind == "obstore":
        from obstore.store import LocalStore as Files

        return ObjectStore(Files(path), read_only=True)
    return FsspecStore.from_url(f"file://{path}", read_only=True, storage_options={"auto_mkdir": False})


@pytest.fixture(params=["local", "obstore", "fsspec"])
def below(request: pytest.FixtureRequest):
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
