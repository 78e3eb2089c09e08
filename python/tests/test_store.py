"""What a `PartsStore` is as a store, and what it asks of the store below."""

import json
import multiprocessing
import pickle
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import zarr
from conftest import FUSED, open_below
from zarr.abc.store import RangeByteRequest
from zarr.core.buffer import cpu, default_buffer_prototype
from zarr.storage import LocalStore, WrapperStore
from zarr.testing.store import StoreTests

from zarr_parts import (
    MetadataError,
    MissingPartError,
    PartsError,
    PartSizeError,
    PartsStore,
    UnfinishedWriteError,
)

PROTOTYPE = default_buffer_prototype()


class CountingStore(WrapperStore):
    """Counts the requests to a store."""

    def __init__(self, store) -> None:
        super().__init__(store)
        self.requests = Counter[str]()

    async def get(self, key, prototype, byte_range=None):
        self.requests[key] += 1
        return await super().get(key, prototype, byte_range)

    async def getsize(self, key):
        self.requests[key] += 1
        return await super().getsize(key)


class RangelessStore(WrapperStore):
    """Returns values where ranges are asked for, as HTTP servers without ranges do."""

    async def get(self, key, prototype, byte_range=None):
        return await super().get(key, prototype)


def test_a_store_that_ignores_ranges_is_refused(data: Path) -> None:
    array = zarr.open_array(PartsStore(RangelessStore(LocalStore(data / "index.zarr"))), path="raw", mode="r")
    with pytest.raises(PartsError, match="ignores ranges"):
        array[0, 0]


def test_an_index_that_is_a_part_is_one_request(data: Path) -> None:
    below = CountingStore(LocalStore(data / "index.zarr", read_only=True))
    array = zarr.open_array(PartsStore(below), path="zstd", mode="r")
    below.requests.clear()
    _ = array[0, 0]
    assert below.requests == {"zstd/c/0/0.shard.index": 1, "zstd/c/0/0.shard": 1}


def test_a_group_opens_without_a_mode(data: Path) -> None:
    expected = zarr.open_group(data / "index.plain.zarr", mode="r")["raw"][:10]
    np.testing.assert_array_equal(zarr.open_group(PartsStore(data / "index.zarr"))["raw"][:10], expected)
    np.testing.assert_array_equal(zarr.open_group(PartsStore(str(data / "index.zarr")))["raw"][:10], expected)
    np.testing.assert_array_equal(zarr.open_group(PartsStore(f"file://{data}/index.zarr"))["raw"][:10], expected)


def test_consolidated_metadata_is_rewritten(data: Path) -> None:
    group = zarr.open_consolidated(PartsStore(data / "suffix.zarr"), mode="r")
    plain = zarr.open_consolidated(data / "suffix.plain.zarr", mode="r")
    assert group.metadata.consolidated_metadata == plain.metadata.consolidated_metadata
    np.testing.assert_array_equal(group["plain"][...], plain["plain"][...])


def test_xarray_and_dask(data: Path) -> None:
    dask = pytest.importorskip("dask.array")
    xarray = pytest.importorskip("xarray")
    array = zarr.open_array(PartsStore(data / "index.zarr"), path="zstd", mode="r")
    expected = zarr.open_array(data / "index.plain.zarr", path="zstd", mode="r")[...]
    np.testing.assert_array_equal(dask.from_zarr(array).compute(scheduler="processes"), expected)
    folder = data / "xarray.zarr"
    values = xarray.Dataset({"t": (("y", "x"), expected)}, coords={"x": np.arange(41)})
    values.to_zarr(folder, mode="w", zarr_format=3, consolidated=False)
    xarray.testing.assert_identical(xarray.open_zarr(PartsStore(folder), consolidated=False).load(), values)


def _read(store: PartsStore, path: str) -> bytes:
    return zarr.open_array(store, path=path, mode="r")[...].tobytes()


@pytest.mark.parametrize("kind", ["local", "obstore", "fsspec"])
def test_spawned_processes(data: Path, kind: str) -> None:
    store = PartsStore(open_below(kind, data / "index.zarr"))
    assert pickle.loads(pickle.dumps(store)) == store
    expected = zarr.open_array(data / "index.plain.zarr", path="zstd", mode="r")[...].tobytes()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(_read, (store, "zstd")) == expected


@pytest.mark.parametrize("change", ["set", "set_sync", "delete", "delete_sync", "set_if_not_exists", "delete_dir", "clear"])
async def test_changes_are_refused(data: Path, change: str) -> None:
    store = PartsStore(data / "index.zarr")
    arguments = {"set": 2, "set_sync": 2, "set_if_not_exists": 2, "clear": 0}.get(change, 1)
    with pytest.raises(ValueError, match=r"zarr-parts convert.*setSharded"):
        done = getattr(store, change)(*["raw/c/0/0", cpu.Buffer.from_bytes(b"")][:arguments])
        await done
    with pytest.raises(ValueError, match="setSharded"):
        zarr.open_group(store)["raw"][0, 0] = 1


ARRAY = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [6],
    "data_type": "uint8",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [3]}},
    "chunk_key_encoding": {"name": "suffix", "configuration": {"suffix": ".bin"}},
    "codecs": [{"name": "bytes"}],
    "fill_value": 0,
    "storage_transformers": [
        {"name": "concat-parts", "configuration": {"parts": [{"key_suffix": ""}, {"key_suffix": ".x", "size": 1}]}}
    ],
}


def make_array(folder: Path, **members: object) -> PartsStore:
    (folder / "c").mkdir(parents=True, exist_ok=True)
    (folder / "zarr.json").write_text(json.dumps({**ARRAY, **members}))
    (folder / "c/0.bin").write_bytes(b"\1\2")
    (folder / "c/0.bin.x").write_bytes(b"\3")
    return PartsStore(folder)


@pytest.mark.parametrize("kind", ["local", "obstore", "fsspec"])
async def test_errors(tmp_path: Path, kind: str) -> None:
    store = PartsStore(open_below(kind, make_array(tmp_path).store.root))
    assert zarr.open_array(store, mode="r")[...].tolist() == [1, 2, 3, 0, 0, 0]
    (tmp_path / "c/0.bin.x").write_bytes(b"")
    with pytest.raises(PartSizeError, match="is 0 bytes long, expected 1") as size_error:
        zarr.open_array(store, mode="r")[...]
    (tmp_path / "c/0.bin.x").unlink()
    for read in [store.get("c/0", PROTOTYPE), store.get("c/0", PROTOTYPE, RangeByteRequest(1, 3)), store.exists("c/0"), store.getsize("c/0")]:
        with pytest.raises(MissingPartError, match="lacks 'c/0.bin.x' but has 'c/0.bin'") as missing:
            await read
    for error in [size_error.value, missing.value]:
        assert str(pickle.loads(pickle.dumps(error))) == str(error)
    (tmp_path / "c/.zarr-parts-tmp-journal-0.bin").write_bytes(b"")
    with pytest.raises(UnfinishedWriteError, match="zarr-parts repair"):
        zarr.open_array(store, mode="r")[...]
    assert [key async for key in store.list()] == [key async for key in store.list() if "tmp" not in key]
    assert issubclass(UnfinishedWriteError, PartsError) and not issubclass(PartsError, FileNotFoundError | KeyError)


@pytest.mark.parametrize("tail", [0, 1])
@pytest.mark.parametrize("kind", ["local", "obstore", "fsspec over HTTP"])
def test_a_shard_that_ends_before_an_inner_chunk(tmp_path: Path, kind: str, tail: int) -> None:
    """Its index is at the start. zarr-python takes no bytes for an absent inner chunk, and would read on into a part behind."""
    shards = {"shape": (8,), "index_location": "start"}
    zarr.create_array(tmp_path, shape=(8,), chunks=(2,), shards=shards, dtype="uint8", compressors=None)[...] = 7
    document = json.loads((tmp_path / "zarr.json").read_text())
    document |= {"chunk_key_encoding": "v2", "storage_transformers": parts({"key_suffix": ""}, {"key_suffix": ".x", "size": tail})}
    (tmp_path / "zarr.json").write_text(json.dumps(document))
    shard = (tmp_path / "c/0").read_bytes()
    (tmp_path / "0").write_bytes(shard[: 74 - tail])
    (tmp_path / "0.x").write_bytes(shard[76 - tail :])
    array = zarr.open_array(PartsStore(open_below(kind, tmp_path)), mode="r")
    assert array[:4].tolist() == [7] * 4
    for at in (slice(6, 8), slice(None)):
        with pytest.raises(PartSizeError, match=f"at least {76 - tail}"):
            array[at]


def parts(*listed: dict[str, object]) -> list[object]:
    return [{"name": "concat-parts", "configuration": {"parts": list(listed)}}]


WRONG = {
    "unknown encoding": ({"chunk_key_encoding": "v4"}, "Unknown chunk key encoding"),
    "two bases": (
        {"chunk_key_encoding": {"name": "suffix", "configuration": {"suffix": "", "base_encoding": "v2", "base-encoding": "v2"}}},
        "base-encoding",
    ),
    "not understood": ({"chunk_key_encoding": {"name": "v2", "must_understand": False}}, "must_understand"),
    "leaves the folder": ({"chunk_key_encoding": {"name": "suffix", "configuration": {"suffix": "/../../x"}}}, '".."'),
    "one key": ({"chunk_key_encoding": "default", "storage_transformers": parts({"key_suffix": ""}, {"key_suffix": "0", "size": 1})}, "share"),
    "a document": ({"storage_transformers": parts({"key_suffix": "/zarr.json"})}, "document"),
    "no parts": ({"storage_transformers": parts()}, "at least one part"),
    "one suffix": ({"storage_transformers": parts({"key_suffix": ""}, {"key_suffix": "", "size": 1})}, "one key_suffix"),
    "a size": ({"storage_transformers": parts({"key_suffix": "", "size": -1})}, "whole number"),
    "a transformer": ({"storage_transformers": ["other"]}, "Unknown storage transformer"),
    "digits side by side": ({"chunk_key_encoding": {"name": "template", "configuration": {"format": "a{0}{1}"}}}, "rank 1"),
    "no placeholder": ({"chunk_key_encoding": {"name": "template", "configuration": {"format": "a"}}}, "no placeholder"),
}


@pytest.mark.parametrize("name", WRONG)
def test_metadata_that_is_not_understood(tmp_path: Path, name: str) -> None:
    members, message = WRONG[name]
    store = make_array(tmp_path / "bad", **members)
    with pytest.raises(MetadataError, match=message):
        zarr.open_array(store, mode="r")


def test_one_array_that_is_not_understood_leaves_the_others(tmp_path: Path) -> None:
    make_array(tmp_path / "good")
    make_array(tmp_path / "bad", storage_transformers=["other"])
    documents = {name: json.loads((tmp_path / name / "zarr.json").read_text()) for name in ["good", "bad"]}
    group = {"zarr_format": 3, "node_type": "group", "attributes": {}}
    consolidated = {"kind": "inline", "must_understand": False, "metadata": documents}
    (tmp_path / "zarr.json").write_text(json.dumps({**group, "consolidated_metadata": consolidated}))
    opened = zarr.open_group(PartsStore(tmp_path), mode="r")
    assert opened["good"][:3].tolist() == [1, 2, 3]
    with pytest.raises(MetadataError):
        opened["bad"]


class FilledStore(PartsStore):
    """A store that tests can fill."""

    async def set(self, key: str, value: cpu.Buffer) -> None:
        self.set_sync(key, value)

    def set_sync(self, key: str, value: cpu.Buffer) -> None:
        path = self.store.root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(value.to_bytes())


class TestPartsStore(StoreTests[FilledStore, cpu.Buffer]):
    """The tests of zarr-python for stores, but for those about changes."""

    store_cls = FilledStore
    buffer_cls = cpu.Buffer

    async def set(self, store: PartsStore, key: str, value: cpu.Buffer) -> None:
        store.set_sync(key, value)

    async def get(self, store: PartsStore, key: str) -> cpu.Buffer:
        return cpu.Buffer.from_bytes((store.store.root / key).read_bytes())

    @pytest.fixture
    def store_kwargs(self, tmp_path: Path) -> dict[str, object]:
        return {"store": str(tmp_path)}

    def test_store_repr(self, store: PartsStore) -> None:
        assert "PartsStore(LocalStore" in repr(store)

    def test_store_supports_writes(self, store: PartsStore) -> None:
        assert not store.supports_writes

    def test_store_supports_listing(self, store: PartsStore) -> None:
        assert store.supports_listing

    def not_for_readers(self) -> None:
        """Stands in for a test that writes."""

    test_set = test_set_many = test_set_not_open = test_delete = test_delete_dir = test_clear = not_for_readers
    test_delete_nonexistent_key_does_not_raise = test_set_if_not_exists = test_with_read_only_store = not_for_readers
    test_set_sync = test_delete_sync = test_delete_sync_missing = test_sync_async_set_get_parity = not_for_readers
    test_delete_sync_visible_to_async_get = test_read_only_store_raises = not_for_readers


def test_both_pipelines_are_those_of_zarr(data: Path) -> None:
    """From zarr 3.4 on, a local store is read without an event loop."""
    supports = getattr(zarr.abc.store, "_store_supports_sync_io", None)
    if supports is None:
        pytest.skip("this version of zarr-python has one pipeline")
    assert supports(PartsStore(data / "index.zarr"))
    assert not supports(PartsStore(open_below("obstore", data / "index.zarr")))
    with zarr.config.set({"codec_pipeline.path": FUSED}):
        assert zarr.open_array(PartsStore(data / "index.zarr"), path="raw", mode="r").shape == (36, 41)
