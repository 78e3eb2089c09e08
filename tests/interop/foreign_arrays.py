"""Writes nodes with zarr-python and TensorStore into a folder, or compares pairs of nodes.

`write FOLDER` makes `group.zarr`, with data types that are not in `matrix.ts`, and all
kinds of chunk keys, shards and codecs that the programs write; `image.zarr`, an array of
zarr-python; and `first.zarr`, one of TensorStore, whose shards begin with their index.
`compare NODE NODE …` compares each node with the one after it.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import tensorstore as ts
import zarr

# Warnings: some data types and consolidated metadata are not in Zarr v3 yet.
warnings.simplefilter("ignore")

V2_KEYS = [{"name": "v2", "separator": separator} for separator in "./"]
DOTS = {"name": "default", "separator": "."}
IMAGE = (np.arange(300 * 200).reshape(300, 200) % 251).astype("uint8")


def write(folder):
    root = folder / "group.zarr"
    group = zarr.create_group(root, zarr_format=3, attributes=attributes())
    group.create_group("types", attributes={"empty": {}})
    for name, values in types().items():
        array = group.create_array(
            f"types/{name}", shape=values.shape, dtype=values.dtype, chunks=(3,)
        )
        array[...] = values
    group.create_group("keys")
    for i, keys in enumerate([*V2_KEYS, DOTS]):
        for name, more in [("chunks", {}), ("shards", {"shards": (40, 60)})]:
            array = group.create_array(
                f"keys/{i} {name}",
                shape=IMAGE.shape,
                dtype="uint8",
                chunks=(20, 30),
                chunk_key_encoding=keys,
                dimension_names=["y", None],
                attributes={"i": i},
                **more,
            )
            array[:100, 50:] = IMAGE[:100, 50:]  # The other chunks are absent.
    point = group.create_array("point", shape=(), dtype="float64")
    point[...] = np.pi
    zarr.create_group(root, path="tensorstore", zarr_format=3)
    for name, codecs in tensorstore_codecs().items():
        write_with_tensorstore(root / "tensorstore" / name, codecs)
    zarr.consolidate_metadata(root)

    image = zarr.create_array(
        folder / "image.zarr",
        shape=IMAGE.shape,
        dtype="uint8",
        chunks=(32, 48),
        shards=(96, 96),
        compressors=[zarr.codecs.ZstdCodec(level=3)],
    )
    image[...] = IMAGE
    write_with_tensorstore(folder / "first.zarr", [shards([LITTLE, GZIP, CHECKSUM], "start")])


def write_with_tensorstore(path, codecs):
    metadata = {
        "shape": [7, 40, 30],
        "data_type": "float32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 40, 16]}},
        "fill_value": "NaN",
        "codecs": codecs,
        "attributes": {"name": path.name},
    }
    array = ts.open({**spec(path), "metadata": metadata}, create=True).result()
    values = np.arange(6000, dtype="float32").reshape(5, 40, 30)
    array[2:].write(values).result()


def spec(path):
    return {"driver": "zarr3", "kvstore": {"driver": "file", "path": f"{path}/"}}


def attributes():
    return {
        "large": 2**63,
        "precise": 0.1 + 0.2,
        "text": "grüße\u2028日本 \U0001f600",
        "nested": [{"a": [None, True, -0.0, 1e300]}],
    }


def types():
    structure = np.dtype([("id", "<i4"), ("at", "<f8"), ("name", "<U4")])
    return {
        "string": np.array(["", "grüße", "日本", "a" * 500, "x"], dtype=np.dtypes.StringDType()),
        "utf32": np.array(["", "grü", "日本", "abcd", "x"], dtype="<U4"),
        "bytes": np.array([b"", b"ab", b"\xff\x00c", b"d", b"e"], dtype="S3"),
        "raw": np.array([b"\0ab", b"cde", b"\xff\xff\xff", b"", b"z"], dtype="V3"),
        "time": np.array([0, 1, -5, 2**60, "NaT"], dtype="datetime64[ns]"),
        "duration": np.array([0, 1, -5, 7, "NaT"], dtype="timedelta64[s]"),
        "structure": np.array(
            [(1, 0.5, "a"), (2, np.nan, ""), (0, 0, ""), (-1, -np.inf, "日本"), (9, 1, "z")],
            dtype=structure,
        ),
        "complex": np.array([1 + 2j, np.nan, 0, -1j, np.inf], dtype="complex64"),
        "half": np.array([0, -0.0, 1.5, np.nan, np.inf], dtype="float16"),
    }


LITTLE, BIG = (
    {"name": "bytes", "configuration": {"endian": endian}} for endian in ("little", "big")
)
BLOSC = {
    "name": "blosc",
    "configuration": {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 4},
}
GZIP = {"name": "gzip", "configuration": {"level": 6}}
CHECKSUM = {"name": "crc32c"}
TRANSPOSE = {"name": "transpose", "configuration": {"order": [2, 0, 1]}}


def shards(codecs, location):
    configuration = {
        "chunk_shape": [1, 10, 8],
        "codecs": codecs,
        "index_codecs": [LITTLE, CHECKSUM],
        "index_location": location,
    }
    return {"name": "sharding_indexed", "configuration": configuration}


def tensorstore_codecs():
    return {
        "plain": [LITTLE],
        "big, gzip, checksum": [BIG, GZIP, CHECKSUM],
        "transposed": [TRANSPOSE, LITTLE, BLOSC],
        "shards": [shards([LITTLE, BLOSC], "end")],
    }


def compare(one, other):
    """Compares all elements, attributes and metadata, except for how chunks are stored."""
    found, expected = (nodes(root) for root in (one, other))
    assert found.keys() == expected.keys(), set(found) ^ set(expected)
    for path, (metadata, node) in expected.items():
        assert found[path][0] == metadata, f"{path}: {found[path][0]} is not {metadata}"
        if not isinstance(node, zarr.Array):
            continue
        values, same = (np.asarray(array[...]) for array in (found[path][1], node))
        assert values.dtype == same.dtype, path
        assert values.tolist() == same.tolist() or values.tobytes() == same.tobytes(), path
        if metadata.find("float32") < 0:
            continue
        values, same = (ts.open(spec(root / path)).result().read().result() for root in (one, other))
        assert values.tobytes() == same.tobytes(), path


def nodes(root):
    node = zarr.open(root, mode="r", zarr_format=3)
    if isinstance(node, zarr.Array):
        return {"": (described(node), node)}
    assert node.metadata.consolidated_metadata is not None, root
    members = {"": node, **dict(node.members(max_depth=None))}
    return {path: (described(member), member) for path, member in members.items()}


def described(node):
    metadata = node.metadata.to_dict()
    for member in ("chunk_key_encoding", "consolidated_metadata", "storage_transformers"):
        metadata.pop(member, None)
    return repr(metadata)


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    paths = [Path(argument).resolve() for argument in arguments]
    if command == "write":
        write(*paths)
    else:
        for pair in zip(paths[::2], paths[1::2], strict=True):
            compare(*pair)
