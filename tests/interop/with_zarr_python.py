"""Writes and reads the arrays of a folder with zarr-python; see `exchange.py`."""

import functools
import warnings

import numpy as np
import zarr

import exchange

# Warnings: consolidated metadata is not in Zarr v3 yet, and codecs around shards are slow.
warnings.simplefilter("ignore", zarr.errors.ZarrUserWarning)


def write_group(root, path):
    zarr.create_group(root, path=path, zarr_format=3, attributes={"path": path})


def write(root, array, elements):
    metadata = array["metadata"]
    created = zarr.create_array(
        root,
        name=array["path"],
        shape=tuple(metadata["shape"]),
        dtype=metadata["data_type"],
        **({} if array["by_default"] else options(metadata)),
    )
    created[...] = exchange.as_array(np, elements, created.dtype, created.shape)


def options(metadata):
    fill_value = metadata["fill_value"]
    return {
        "chunks": tuple(metadata["chunk_grid"]["configuration"]["chunk_shape"]),
        "fill_value": complex(*fill_value) if isinstance(fill_value, list) else fill_value,
        **pipeline(metadata["codecs"]),
    }


def pipeline(codecs):
    """Sorts codecs by their kind."""
    names = [codec["name"] for codec in codecs]
    to_bytes = next(i for i, name in enumerate(names) if name in ("bytes", "sharding_indexed"))
    return {
        "filters": codecs[:to_bytes],
        "serializer": codecs[to_bytes],
        "compressors": codecs[to_bytes + 1 :],
    }


def finish(root):
    zarr.consolidate_metadata(root)


@functools.cache
def open_root(root):
    """Opens the root group, which may have consolidated metadata, or returns None."""
    has_group = (root / "zarr.json").exists()
    return zarr.open_group(root, mode="r", zarr_format=3) if has_group else None


def read(root, path):
    group = open_root(root)
    array = group[path] if group else zarr.open_array(root, path=path, mode="r", zarr_format=3)
    return exchange.as_elements(np, array[...])


if __name__ == "__main__":
    exchange.run(write_group, write, finish, read)
