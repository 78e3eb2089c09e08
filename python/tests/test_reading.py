"""Arrays in parts against plain copies of them."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import zarr
from conftest import FUSED, LAYOUTS
from zarr.abc.store import OffsetByteRequest, RangeByteRequest, Store, SuffixByteRequest
from zarr.core.buffer import default_buffer_prototype
from zarr.storage import LocalStore

from zarr_parts import MissingPartError, PartsStore

PROTOTYPE = default_buffer_prototype()


def arrays_of(node: zarr.Array | zarr.Group) -> list[zarr.Array]:
    if isinstance(node, zarr.Array):
        return [node]
    return [array for _, member in sorted(node.members(max_depth=None)) for array in [member] if isinstance(array, zarr.Array)]


def assert_same(found: zarr.Array, expected: zarr.Array) -> None:
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found[...], expected[...])
    if found.ndim == 0:
        return
    for at in np.ndindex(*(min(n, 3) for n in found.shape)):
        index = tuple(i * (n - 1) // 2 if n > 1 else 0 for i, n in zip(at, found.shape, strict=True))
        np.testing.assert_array_equal(found[index], expected[index])
    part = tuple(slice(n // 4, n // 2 + 2) for n in found.shape)
    np.testing.assert_array_equal(found[part], expected[part])


@pytest.mark.parametrize("name", LAYOUTS)
def test_elements(data: Path, name: str, anywhere, pipeline) -> None:
    store = PartsStore(anywhere(data / f"{name}.zarr"))
    for expected in arrays_of(zarr.open(data / f"{name}.plain.zarr", mode="r")):
        assert_same(zarr.open_array(store, path=expected.path, mode="r"), expected)


@pytest.mark.parametrize("name", LAYOUTS)
def test_members(data: Path, name: str, below) -> None:
    found = arrays_of(zarr.open(PartsStore(below(data / f"{name}.zarr")), mode="r"))
    expected = arrays_of(zarr.open(data / f"{name}.plain.zarr", mode="r"))
    assert [array.metadata for array in found] == [array.metadata for array in expected]


async def listing(store: Store, prefixes: list[str]) -> dict[str, object]:
    keys = [key async for key in store.list()]
    assert len(set(keys)) == len(keys)
    return {
        "keys": sorted(keys),
        "prefixes": {prefix: sorted([key async for key in store.list_prefix(prefix)]) for prefix in prefixes},
        "folders": {prefix: sorted([key async for key in store.list_dir(prefix)]) for prefix in prefixes},
        "sizes": {key: await store.getsize(key) for key in keys},
        "exists": {key: await store.exists(key) for key in [*keys, "c/900/900", "none", "raw/c/99/0"]},
        "size": await store.getsize_prefix(""),
        "documents": {key: (await store.get(key, PROTOTYPE)).to_bytes() for key in keys if key.endswith("zarr.json")},
    }


@pytest.mark.parametrize("name", LAYOUTS)
async def test_listings(data: Path, name: str, below) -> None:
    plain = below(data / f"{name}.plain.zarr")
    folders = {"", *("/".join(key.split("/")[:n]) + "/" for key in [k async for k in plain.list()] for n in range(1, key.count("/") + 1))}
    prefixes = sorted(folders)
    assert await listing(PartsStore(below(data / f"{name}.zarr")), prefixes) == await listing(plain, prefixes)


@pytest.mark.parametrize("name", LAYOUTS)
async def test_ranges(data: Path, name: str, below) -> None:
    plain, store = below(data / f"{name}.plain.zarr"), PartsStore(below(data / f"{name}.zarr"))
    random = np.random.default_rng(1)
    for key in [key async for key in plain.list()][:20]:
        size = await plain.getsize(key)
        value = (await plain.get(key, PROTOTYPE)).to_bytes()
        for _ in range(8):
            start, end = sorted(random.integers(0, size + 1, 2).tolist())
            requests = [RangeByteRequest(start, end + 1), OffsetByteRequest(start), SuffixByteRequest(min(end + 1, size))]
            expected = [value[start : end + 1], value[start:], value[-min(end + 1, size) :]]
            if start == size:
                continue
            found = await store.get_partial_values(PROTOTYPE, [(key, request) for request in requests])
            assert [buffer.to_bytes() for buffer in found] == expected, (key, start, end, size)


def change(path: Path, how: str) -> None:
    content = path.read_bytes()
    path.unlink()  # The file may be a link to another array's.
    if how == "cut":
        path.write_bytes(content[: len(content) // 2])
    elif how == "cut by one":
        path.write_bytes(content[:-1])
    elif how == "lengthened":
        path.write_bytes(content + b"\1\2\3")


@pytest.mark.parametrize("name", ["index", "sized", "index_first", "data_first", "checksum", "adopted"])
def test_damaged_parts_never_give_other_elements(data: Path, name: str, anywhere, pipeline, tmp_path: Path) -> None:
    if zarr.config.get("codec_pipeline.path") == FUSED and type(anywhere(data)) is not LocalStore:
        pytest.skip("other stores are read in an event loop by both pipelines")
    arrays = arrays_of(zarr.open(data / f"{name}.plain.zarr", mode="r"))
    shutil.copytree(data / f"{name}.zarr", tmp_path / "damaged")
    store = PartsStore(anywhere(tmp_path / "damaged"))
    stored = sorted(p for p in (tmp_path / "damaged").rglob("*") if p.is_file() and p.name != "zarr.json")
    for path in stored[:: max(len(stored) // 3, 1)]:
        content = path.read_bytes()
        for how in ["removed", "cut", "cut by one", "lengthened"]:
            change(path, content, how)
            errors = []
            for array in arrays:
                if array.path not in str(path.relative_to(tmp_path)):
                    continue
                found = zarr.open_array(store, path=array.path, mode="r")
                for at in [..., *blocks(array)]:
                    try:
                        elements = found[at]
                    except Exception as error:
                        errors.append(error)
                    else:
                        np.testing.assert_array_equal(elements, array[at], f"{path} {how}")
            if how == "removed":
                assert all(isinstance(error, MissingPartError) for error in errors), (path, errors)
            assert errors or how != "cut by one" or not content
            assert not [error for error in errors if isinstance(error, FileNotFoundError | BaseExceptionGroup)]
        path.write_bytes(content)


def change(path: Path, content: bytes, how: str) -> None:
    path.unlink(missing_ok=True)
    if how == "cut":
        path.write_bytes(content[: len(content) // 2])
    elif how == "cut by one":
        path.write_bytes(content[:-1])
    elif how == "lengthened":
        path.write_bytes(content + b"\1\2\3")


def blocks(array: zarr.Array) -> list[tuple[slice, ...]]:
    """A few elements in the first, the middle and the last chunk."""
    return [tuple(slice(i * (n - 2) // 2, i * (n - 2) // 2 + 2) for n in array.shape) for i in range(3)]
