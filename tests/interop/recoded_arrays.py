"""Writes arrays of all data types, and compares them with recoded ones.

    recoded_arrays.py write FOLDER
    recoded_arrays.py compare NEW OLD [NEW OLD ...]
"""

import json
import sys
import warnings

import numpy as np
import tensorstore as ts
import zarr
from zarr.codecs import (
    BloscCodec,
    BytesCodec,
    Crc32cCodec,
    GzipCodec,
    ShardingCodec,
    TransposeCodec,
    ZstdCodec,
)

warnings.filterwarnings("ignore")

SHAPE = (11, 13)

TYPES = {
    "bool": ("bool", True),
    "int8": ("int8", -3),
    "uint16": ("uint16", 65535),
    "int64": ("int64", -(2**63)),
    "float16": ("float16", 0.5),
    "float32": ("float32", float("nan")),
    "float64": ("float64", float("-inf")),
    "complex64": ("complex64", 1 - 2j),
    "complex128": ("complex128", complex("nan+infj")),
    "datetime": ("datetime64[s]", np.datetime64("NaT")),
    "timedelta": ("timedelta64[ms]", np.timedelta64(5, "ms")),
    "text": ("U4", "äbc"),
    "bytes": ("S5", b"xyz"),
    "raw": ("V6", b"abcdef"),
    "struct": ([("a", "i2"), ("b", "f8")], (7, 1.5)),
}

PIPELINES = {
    "zstd": dict(compressors=[ZstdCodec(level=1)]),
    "big": dict(
        filters=[TransposeCodec(order=(1, 0))],
        serializer=BytesCodec(endian="big"),
        compressors=[GzipCodec(level=1)],
    ),
    "shards": dict(shards=(6, 8), compressors=[BloscCodec(cname="lz4")]),
}

SHARDS = ShardingCodec(chunk_shape=(4, 3), codecs=[BytesCodec(), ZstdCodec(level=1)])

# Codecs beside those of shards, which only the older function takes.
CODECS = {
    "around": [TransposeCodec(order=(1, 0)), SHARDS, Crc32cCodec(), GzipCodec(level=1)],
    "nested": [
        ShardingCodec(
            chunk_shape=(12, 12),
            codecs=[TransposeCodec(order=(1, 0)), SHARDS, Crc32cCodec()],
            index_location="start",
        )
    ],
    "twice": [
        TransposeCodec(order=(1, 0)),
        TransposeCodec(order=(1, 0)),
        ShardingCodec(chunk_shape=(3, 4)),
    ],
}


def elements(dtype):
    random = np.random.default_rng(1)
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return random.random(SHAPE) < 0.5
    if dtype.kind == "U":
        return random.choice(["", "a", "βγ", "abcd", "\U0001f600"], SHAPE).astype(dtype)
    if dtype.kind == "M" or dtype.kind == "m":
        return random.integers(-1000, 1000, SHAPE).astype(dtype)
    if dtype.kind in "fc":
        values = random.standard_normal(SHAPE)
        return (values + (1j * values[::-1] if dtype.kind == "c" else 0)).astype(dtype)
    raw = random.integers(1, 255, (*SHAPE, dtype.itemsize), dtype="uint8")
    return np.frombuffer(raw.tobytes(), dtype).reshape(SHAPE)


def write(folder):
    for name, (dtype, fill) in TYPES.items():
        for pipeline, options in PIPELINES.items():
            is_plain = name in ("struct", "raw", "bytes", "text")
            if pipeline == "big" and is_plain:
                continue
            # zarr-python has no shards of these.
            if pipeline == "shards" and name in ("struct", "raw"):
                continue
            array = zarr.create_array(
                f"{folder}/{name}-{pipeline}",
                shape=SHAPE,
                chunks=(3, 4),
                dtype=np.dtype(dtype),
                fill_value=fill,
                **options,
            )
            array[2:9, 5:] = elements(dtype)[2:9, 5:]
        for pipeline, codecs in CODECS.items():
            if name in ("struct", "raw", "bytes", "text"):
                continue
            array = zarr.create(
                store=f"{folder}/{name}-{pipeline}",
                shape=SHAPE,
                chunks=(12, 12),
                dtype=np.dtype(dtype),
                fill_value=fill,
                codecs=codecs,
            )
            array[2:9, 5:] = elements(dtype)[2:9, 5:]
    texts = zarr.create_array(
        f"{folder}/texts", shape=SHAPE, chunks=(3, 4), dtype=str, fill_value="-"
    )
    texts[1:5, 2:] = elements("U4")[1:5, 2:].astype(object)


def as_bytes(values):
    if values.dtype == object or values.dtype.kind == "T":
        return json.dumps(values.tolist())
    return np.ascontiguousarray(values.astype(values.dtype.newbyteorder("<"))).tobytes()


def compare(pairs):
    for new, old in zip(pairs[::2], pairs[1::2]):
        found, expected = zarr.open_array(new, mode="r"), zarr.open_array(old, mode="r")
        assert found.dtype == expected.dtype, (new, found.dtype)
        assert as_bytes(found[:]) == as_bytes(expected[:]), new
        if np.dtype(found.dtype).kind not in "biuf" or found.dtype == object:
            continue
        spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": new + "/"}}
        read = ts.open(spec, read=True).result().read().result()
        assert read.tobytes() == expected[:].tobytes(), (new, "TensorStore")


if sys.argv[1] == "write":
    write(sys.argv[2])
else:
    compare(sys.argv[2:])
