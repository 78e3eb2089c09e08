"""References by the command line, read without this package."""

import json
import re
import shlex
import warnings
from importlib.util import find_spec
from pathlib import Path
from textwrap import dedent

import fsspec
import numpy as np
import pytest
import xarray
import zarr
from conftest import LAYOUTS, run, server
from obstore.store import LocalStore
from test_reading import arrays_of
from zarr.storage import FsspecStore


@pytest.fixture(scope="module", params=LAYOUTS)
def written(request: pytest.FixtureRequest, data: Path) -> tuple[Path, Path]:
    """A file of references, and the plain copy of what they lead to."""
    name = request.param
    run("references", f"{name}.zarr", "-o", f"{name}.json", cwd=data)
    return data / f"{name}.json", data / f"{name}.plain.zarr"


def test_zarr_python_and_xarray(written: tuple[Path, Path]) -> None:
    path, plain = written
    if path.name == "adopted.json" or path.name == "tiff.json":
        register = pytest.importorskip("imagecodecs.zarr").register_codecs
        register(verbose=False)
    files = fsspec.filesystem("reference", fo=str(path), asynchronous=True)
    store = FsspecStore(files, path="", read_only=True)
    for array in arrays_of(zarr.open(plain, mode="r")):
        found = zarr.open_array(store, path=array.path, mode="r")
        assert found.dtype == array.dtype
        np.testing.assert_array_equal(found[...], array[...])


def test_gdal(written: tuple[Path, Path]) -> None:
    rasterio = pytest.importorskip("rasterio")
    path, plain = written
    if path.name in ("adopted.json", "tiff.json"):
        pytest.skip("GDAL has no codecs of imagecodecs")
    for array in arrays_of(zarr.open(plain, mode="r")):
        document = json.loads(path.read_text())["refs"][f"{array.path}/zarr.json".lstrip("/")]
        if array.ndim != 2 or "crc32c" in document:  # GDAL has no such codec.
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            name = f":/{array.path}" if array.path else ""
            with rasterio.open(f'ZARR:"/vsikerchunk_json_ref/{{{path}}}"{name}') as dataset:
                np.testing.assert_array_equal(dataset.read(1), array[...])


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, xarray.Dataset]:
    """A folder with the group `b.zarr`, in shards with indexes of their own, and what is in it."""
    folder = tmp_path_factory.mktemp("dataset")
    values = xarray.Dataset({"t": (("y", "x"), np.arange(96, dtype="int32").reshape(8, 12))})
    encoding = {"t": {"chunks": (2, 3), "shards": (4, 6)}}
    values.to_zarr(folder / "a.zarr", mode="w", zarr_format=3, consolidated=False, encoding=encoding)
    run("convert", "a.zarr", "b.zarr", "--suffix", ".s", "--parts", ",.index", cwd=folder)
    return folder, values


@pytest.mark.parametrize("protocol", ["file", "http"])
def test_the_printed_lines_open_the_references(dataset: tuple[Path, xarray.Dataset], protocol: str) -> None:
    folder, values = dataset
    prefix = ["--url-prefix", f"{server()}{folder}/b.zarr/"] if protocol == "http" else []
    printed = run("references", "b.zarr", "-o", f"{protocol}.json", *prefix, cwd=folder)
    lines = dict(re.findall(r"^(\S+):\n((?:  .*\n)+)", printed, re.MULTILINE))
    assert list(lines) == ["zarr-python", "xarray", "GDAL"]
    scope: dict[str, object] = {"xarray": xarray}
    *statements, opening = dedent(lines["zarr-python"]).splitlines()
    exec("\n".join(statements), scope)
    np.testing.assert_array_equal(eval(opening, scope)["t"][...], values["t"])
    xarray.testing.assert_equal(eval(lines["xarray"].strip(), scope).load(), values)
    [command, name] = shlex.split(lines["GDAL"])
    assert command == "gdalmdiminfo"
    if find_spec("rasterio"):
        import rasterio

        with rasterio.open(f"{name}:/t") as opened:
            np.testing.assert_array_equal(opened.read(1), values["t"])


def test_virtualizarr_and_icechunk(dataset: tuple[Path, xarray.Dataset]) -> None:
    virtualizarr = pytest.importorskip("virtualizarr")
    icechunk = pytest.importorskip("icechunk")
    from virtualizarr.parsers import KerchunkJSONParser
    from virtualizarr.registry import ObjectStoreRegistry

    folder, values = dataset
    run("references", "b.zarr", "-o", "b.json", cwd=folder)
    registry = ObjectStoreRegistry({"file://": LocalStore()})
    virtual = virtualizarr.open_virtual_dataset(str(folder / "b.json"), registry=registry, parser=KerchunkJSONParser())
    config = icechunk.RepositoryConfig.default()
    config.set_virtual_chunk_container(icechunk.VirtualChunkContainer(f"file://{folder}/", icechunk.local_filesystem_store(str(folder))))
    repository = icechunk.Repository.create(icechunk.in_memory_storage(), config, authorize_virtual_chunk_access={f"file://{folder}/": None})
    session = repository.writable_session("main")
    virtual.vz.to_icechunk(session.store)
    xarray.testing.assert_equal(xarray.open_zarr(session.store, consolidated=False).load(), values)


BYTES, CRC32C, TRANSPOSE = zarr.codecs.BytesCodec(), zarr.codecs.Crc32cCodec(), zarr.codecs.TransposeCodec(order=(1, 2, 0))
SHARDS = {
    "transposed": [TRANSPOSE, zarr.codecs.ShardingCodec(chunk_shape=(2, 4, 3), codecs=[TRANSPOSE, BYTES])],
    "nested": [
        TRANSPOSE,
        zarr.codecs.ShardingCodec(
            chunk_shape=(6, 6, 6),
            codecs=[TRANSPOSE, zarr.codecs.ShardingCodec(chunk_shape=(2, 3, 2), codecs=[BYTES, CRC32C], index_location="start")],
        ),
    ],
    "checksum": [zarr.codecs.ShardingCodec(chunk_shape=(3, 2, 4), codecs=[BYTES]), CRC32C],
}


@pytest.mark.parametrize("name", SHARDS)
def test_shards_in_transposed_and_nested_shards(tmp_path: Path, name: str) -> None:
    chunks = (6, 4, 4) if name == "checksum" else (12, 12, 12)
    array = zarr.create(store=tmp_path / "a.zarr", shape=(13, 11, 10), chunks=chunks, dtype="int32", codecs=SHARDS[name], zarr_format=3)
    array[...] = np.arange(13 * 11 * 10).reshape(13, 11, 10)
    run("convert", "a.zarr", "b.zarr", "--suffix", ".s", "--parts", ".head:5,", cwd=tmp_path)
    run("references", "b.zarr", "-o", "b.json", cwd=tmp_path)
    files = fsspec.filesystem("reference", fo=str(tmp_path / "b.json"), asynchronous=True)
    found = zarr.open_array(FsspecStore(files, path="", read_only=True), mode="r")
    np.testing.assert_array_equal(found[...], array[...])


def test_options(data: Path) -> None:
    run("references", "index.zarr", "-o", "only.json", "--only", "zstd", "--url-prefix", "https://example.com/x y/", cwd=data)
    references = json.loads((data / "only.json").read_text())["refs"]
    assert references["zstd/c/0/0"][0] == "https://example.com/x y/zstd/c/0/0.shard"
    assert not [key for key in references if key.startswith("raw")]
    with pytest.raises(AssertionError, match="--plain"):
        run("references", "data_first.zarr", "-o", "none.json", "--inline-limit", "0", cwd=data)
    assert not (data / "none.json").exists()


def test_archives_are_refused(data: Path) -> None:
    (data / "archive.zip").write_bytes(b"PK\5\6" + bytes(18))
    with pytest.raises(AssertionError, match="zarr-parts convert"):
        run("references", "archive.zip", "-o", "none.json", cwd=data)
