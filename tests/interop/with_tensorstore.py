"""Writes and reads the arrays of a folder with TensorStore; see `exchange.py`."""

import numpy as np
import tensorstore as ts

import exchange


def spec(root, path):
    return {"driver": "zarr3", "kvstore": {"driver": "file", "path": f"{root / path}/"}}


def write_group(root, path):
    """TensorStore has no groups."""


def write(root, array, elements):
    metadata = array["metadata"]
    if array["by_default"]:
        metadata = {member: metadata[member] for member in ("shape", "data_type")}
    created = ts.open(
        {**spec(root, array["path"]), "metadata": metadata}, create=True
    ).result()
    created.write(
        exchange.as_array(np, elements, created.dtype.numpy_dtype, created.shape)
    ).result()


def finish(root):
    pass


def read(root, path):
    return exchange.as_elements(np, ts.open(spec(root, path)).result().read().result())


if __name__ == "__main__":
    exchange.run(write_group, write, finish, read)
