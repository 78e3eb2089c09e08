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
def test_elements(data: Path, name: str, below, pipeline) -> None:
    found = arrays_of(zarr.open(PartsStore(below(data / f"{name}.zarr")), mode="r"))
    expected = arrays_of(zarr.open(data / f"{name}.plain.zarr", mode="r"))
    assert len(found) == len(expected) > 0
    for one, other in zip(found, expected, strict=True):
        assert one.path == other.path
        assert_same(one, other)


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


@pytest.mark.parametrize("how", ["removed", "cut", "cut by one", "lengthened"])
@pytest.mark.parametrize("name", ["index", "header", "sized", "index_first", "data_first", "checksum", "fanout"])
def test_damaged_parts_never_give_other_elements(data: Path, name: str, how: str, below, pipeline, tmp_path: Path) -> None:
    if zarr.config.get("codec_pipeline.path") == FUSED and type(below(data)) is not LocalStore:
        pytest.skip("other stores are read in an event loop by both pipelines")
    expected = {array.path: array[...] for array in arrays_of(zarr.open(data / f"{name}.plain.zarr", mode="r"))}
    stored = sorted(p for p in (data / f"{name}.zarr").rglob("*") if p.is_file() and p.name != "zarr.json")
    damaged = 0
    for path in stored[:: max(len(stored) // 4, 1)]:
        if how == "cut by one" and path.stat().st_size == 0:
            continue
        folder = tmp_path / f"damaged{damaged}"
        shutil.copytree(data / f"{name}.zarr", folder)
        change(folder / path.relative_to(data / f"{name}.zarr"), how)
        damaged += 1
        errors = []
        for array in arrays_of(zarr.open(PartsStore(below(folder)), mode="r")):
            reads = [lambda array=array: array[...], *(lambda array=array, at=at: array[at] for at in blocks(array))]
            wanted = [expected[array.path], *(expected[array.path][at] for at in blocks(array))]
            for read, elements in zip(reads, wanted, strict=True):
                try:
                    found = read()
                except Exception as error:
                    errors.append(error)
                else:
                    np.testing.assert_array_equal(found, elements)
        if how == "removed":
            assert any(isinstance(error, MissingPartError) for error in errors), (path, errors)
        assert errors or how in ("lengthened", "cut", "removed")
        assert not [error for error in errors if isinstance(error, FileNotFoundError | BaseExceptionGroup)]


def blocks(array: zarr.Array) -> list[tuple[slice, ...]]:
    if array.ndim == 0:
        return [()]
    steps = [max(n // 4, 1) for n in array.shape]
    return [tuple(slice(i * s, i * s + 2) for i, s in zip(at, steps, strict=True)) for at in np.ndindex(*([4] * array.ndim))][:6]
