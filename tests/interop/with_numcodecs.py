"""Writes arrays with the codecs of numcodecs by zarr-python, or compares copies with them.

`write FOLDER` writes the group `theirs`, and for each array NAME the elements that were stored,
`NAME.stored`, and those that zarr-python reads, `NAME.read`. `compare FOLDER` reads the arrays
of the group `ours`, and fails where their elements are not those of `NAME.read`.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import zarr
import zarr.codecs.numcodecs as nc
from zarr.codecs import BloscCodec

warnings.simplefilter("ignore")
random = np.random.default_rng(1)
SHAPE = (7, 9)
ELEMENTS = {
    "int16": np.cumsum(random.integers(-3, 4, SHAPE), axis=1).astype("<i2"),
    "float32": random.normal(0, 10, SHAPE).astype("<f4"),
    "float64": random.normal(0, 10, SHAPE),
    "bool": random.random(SHAPE) < 0.4,
}
# The data type, the filters and the compressors.
ARRAYS = {
    "delta": ("int16", [nc.Delta(dtype="<i2")], []),
    "delta-of-more-bits": ("int16", [nc.Delta(dtype="<i2", astype="<i4")], []),
    "delta-of-floats": ("float32", [nc.Delta(dtype="<f4", astype="<f4")], []),
    "fixedscaleoffset": (
        "float32",
        [nc.FixedScaleOffset(offset=0, scale=10, dtype="<f4", astype="<i2")],
        [nc.Blosc(cname="lz4", clevel=5, shuffle=1)],
    ),
    "fixedscaleoffset-without-dtype": (
        "float64",
        [nc.FixedScaleOffset(offset=0.5, scale=10.0, astype="<i4")],
        [],
    ),
    "quantize": ("float64", [nc.Quantize(digits=2, dtype="<f8")], []),
    "bitround": ("float32", [nc.BitRound(keepbits=5)], []),
    "packbits": ("bool", [nc.PackBits()], [nc.GZip()]),
    "astype": ("float64", [nc.AsType(encode_dtype="<f4", decode_dtype="<f8")], []),
    "chain": (
        "int16",
        [
            nc.AsType(encode_dtype="<i8", decode_dtype="<i2"),
            nc.Delta(dtype="<i8", astype="<i4"),
        ],
        [nc.Shuffle(elementsize=4), nc.LZ4(), nc.CRC32()],
    ),
    "shuffle": ("float64", [], [nc.Shuffle()]),
    "bz2": ("float64", [], [nc.BZ2(level=3)]),
    "blosc": (
        "float64",
        [],
        [BloscCodec(cname="lz4", clevel=5, shuffle="bitshuffle", typesize=8)],
    ),
    "blosc-by-default": ("int16", [], [BloscCodec()]),
    "adler32": ("float64", [], [nc.Adler32(), nc.Zlib()]),
    "fletcher32": ("float64", [], [nc.Fletcher32()]),
    "jenkins_lookup3": ("float64", [], [nc.JenkinsLookup3()]),
    "crc32c": ("float64", [], [nc.CRC32C()]),
}


def write(folder):
    group = zarr.open_group(str(folder / "theirs"), mode="w", zarr_format=3)
    for name, (dtype, filters, compressors) in ARRAYS.items():
        elements = ELEMENTS[dtype]
        array = group.create_array(
            name,
            shape=SHAPE,
            chunks=(4, 5),
            dtype=elements.dtype,
            filters=filters,
            compressors=compressors or None,
            fill_value=0,
        )
        array[:] = elements
        (folder / f"{name}.stored").write_bytes(elements.tobytes())
        (folder / f"{name}.read").write_bytes(group[name][:].tobytes())


def compare(folder):
    group = zarr.open_group(str(folder / "ours"), mode="r")
    names = sorted(group.keys())
    for name in names:
        expected = (folder / f"{name}.read").read_bytes()
        assert group[name][:].tobytes() == expected, name
    assert len(names) > 15, names


{"write": write, "compare": compare}[sys.argv[1]](Path(sys.argv[2]))
