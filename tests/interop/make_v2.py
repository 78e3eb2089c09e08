"""Writes a group of Zarr v2 with arrays of all data types, codecs, filters and orders.

Usage: make_v2.py FOLDER
"""

import itertools
import json
import sys
import warnings
from pathlib import Path

import imagecodecs.numcodecs as images
import numcodecs
import numpy as np

warnings.simplefilter("ignore")
ROOT = Path(sys.argv[1])
RNG = np.random.default_rng(22)

NUMBERS = [
    *["|b1", "|i1", "|u1", "<i2", ">i2", "<u2", ">u2", "<i4", ">i4", "<u4", ">u4"],
    *["<i8", ">i8", "<u8", ">u8", "<f2", ">f2", "<f4", ">f4", "<f8", ">f8"],
    *["<c8", ">c8", "<c16", ">c16"],
]
OTHERS = [
    *["<M8[ns]", ">M8[D]", "<M8[10s]", "<m8[ms]", ">m8[us]", "|S7", "<U5", ">U3"],
    *["|V6", [["a", "|i1"], ["b", "<f4"], ["c", "<u2"], ["d", "|S3"]]],
]
COMPRESSORS = {
    "none": None,
    "blosc": numcodecs.Blosc(),
    "blosc_auto": numcodecs.Blosc(cname="zstd", clevel=3, shuffle=-1),
    "blosc_bits": numcodecs.Blosc(cname="lz4hc", shuffle=2, blocksize=256),
    "blosc_no": numcodecs.Blosc(cname="zlib", shuffle=0),
    "blosclz": numcodecs.Blosc(cname="blosclz", clevel=9),
    "zstd": numcodecs.Zstd(level=5),
    "zstd_sum": numcodecs.Zstd(level=-3, checksum=True),
    "gzip": numcodecs.GZip(level=6),
    "zlib": numcodecs.Zlib(level=9),
    "lz4": numcodecs.LZ4(acceleration=3),
    "bz2": numcodecs.BZ2(level=2),
    "lzma": numcodecs.LZMA(),
    "lzma_raw": numcodecs.LZMA(format=3, filters=[{"id": 0x21, "preset": 1}]),
}
#: Names, filters and the data types of their arrays.
FILTERS = [
    ("delta", [numcodecs.Delta("<i4")], "<i4"),
    ("delta_big", [numcodecs.Delta(">i2")], ">i2"),
    ("delta_time", [numcodecs.Delta("<i8")], "<M8[s]"),
    ("delta_narrow", [numcodecs.Delta("<i8", astype="<i2")], "<i8"),
    ("delta_to_big", [numcodecs.Delta("<i8", astype=">i4")], "<i8"),
    ("scale", [numcodecs.FixedScaleOffset(-3, 10, "<f8", "<i2")], "<f8"),
    ("scale_big", [numcodecs.FixedScaleOffset(1.5, 4, ">f4", ">u2")], ">f4"),
    ("scale_byte", [numcodecs.FixedScaleOffset(0, 2, "<f4", "|u1")], "<f4"),
    ("quantize", [numcodecs.Quantize(2, "<f8")], "<f8"),
    ("quantize_narrow", [numcodecs.Quantize(1, "<f8", "<f4")], "<f8"),
    ("bitround", [numcodecs.BitRound(4)], "<f4"),
    ("packbits", [numcodecs.PackBits()], "|b1"),
    ("astype", [numcodecs.AsType("<i2", "<f4")], "<f4"),
    ("astype_big", [numcodecs.AsType(">i2", "<i8")], "<i8"),
    ("shuffle", [numcodecs.Shuffle(4)], "<f4"),
    ("shuffle_delta", [numcodecs.Delta("<i4"), numcodecs.Shuffle(4)], "<i4"),
    ("two", [numcodecs.FixedScaleOffset(0, 1, "<f8", "<i4"), numcodecs.Delta("<i4")], "<f8"),
    ("crc32", [numcodecs.CRC32()], "<i2"),
    ("crc32_end", [numcodecs.CRC32(location="end")], "<i2"),
    ("crc32c", [numcodecs.CRC32C()], "<i2"),
    ("crc32c_start", [numcodecs.CRC32C(location="start")], "<i2"),
    ("adler32", [numcodecs.Adler32()], "<i2"),
    ("fletcher32", [numcodecs.Fletcher32()], "<f8"),
    ("lookup3", [numcodecs.JenkinsLookup3()], "<f8"),
    ("zlib_filter", [numcodecs.Zlib(1), numcodecs.CRC32()], "<f8"),
    ("blosc_filter", [numcodecs.Delta("<u2"), numcodecs.Blosc()], "<u2"),
]
#: Codecs of imagecodecs, with data types and shapes.
IMAGES = [
    *[("Deflate", "<u2", (20, 30)), ("Zlib", "<f4", (20, 30)), ("Zstd", "|u1", (20, 30))],
    *[("Lzw", "|u1", (20, 30)), ("Packbits", "|u1", (20, 30)), ("Tiff", "<u2", (20, 30))],
    *[("Jpeg", "|u1", (20, 30, 3)), ("Png", "<u2", (20, 30)), ("Jpeg2k", "<u2", (1, 20, 30))],
    *[("Jpegxl", "|u1", (20, 30)), ("Webp", "|u1", (20, 30, 3)), ("Lerc", "<f4", (20, 30))],
    *[("Jpegls", "|u1", (20, 30)), ("Jpegxr", "<u2", (20, 30))],
]
#: Fill values as `.zarray` holds them, by data type.
FILLS = {
    "|b1": [None, True, False],
    "|u1": [None, 255, 7.0, "9"],
    "<i8": [None, -(2**63), 2**63 - 1, 2**53 + 1],
    "<u8": [2**64 - 1],
    "<f2": [None, "NaN", 0.5],
    "<f4": [None, "NaN", "Infinity", "-Infinity", 1e30, 3, -0.0],
    "<f8": ["NaN", 9.969209968386869e36, 0.1],
    "<c8": [None, [1.5, "NaN"], ["-Infinity", 0.0]],
    "<M8[ns]": [None, "NaT", 0, 1234567890123456789],
    "<m8[s]": [None, -5],
    "|S3": [None, "YWJj", "YQ==", ""],
    "<U3": [None, "añb", ""],
    "|V3": [None, "AQID"],
    "fields": [None, "AQIDBAU="],
    "string": [None, "", "añb", 0],
    "bytes": [None, "AQI="],
}
FIELDS = [["a", "|u1"], ["b", "<f4"]]


def native(dtype):
    if isinstance(dtype, str):
        return np.dtype(dtype)
    fields = [(name, native(each)) for name, each in dtype]
    return np.dtype(fields)


def random_elements(dtype, shape):
    """Random elements whose differences and sums stay small."""
    size = int(np.prod(shape))
    small = RNG.integers(0, 100, size)
    if dtype == "string":
        words = ["", "a", "añb", "日本", "x" * 40]
        return np.array([words[i % 5] for i in small], dtype=object).reshape(shape)
    if dtype == "bytes":
        words = [b"", b"\0", b"abc", bytes(range(40))]
        return np.array([words[i % 4] for i in small], dtype=object).reshape(shape)
    kind = dtype.kind
    if kind == "b":
        flat = small % 2 == 0
    elif kind in "iu":
        flat = small
    elif kind == "f":
        flat = small / 4
    elif kind == "c":
        flat = small / 4 - 1j * small
    elif kind in "mM":
        flat = small.astype("<i8").view(np.dtype(dtype.str.replace(">", "<")))
    elif kind in "SU":
        flat = np.array([str(i) for i in small])
    else:
        flat = np.frombuffer(RNG.bytes(size * dtype.itemsize), dtype=dtype)
        if dtype.fields and "b" in dtype.fields:
            flat = flat.copy()
            flat["b"] = small / 4
    return flat.astype(dtype).reshape(shape)


def write(path, dtype, *, shape=(7, 5), chunks=(4, 3), order="C", separator=".",
          filters=None, compressor=None, fill=0, attributes=None, absent=False):
    """Writes an array chunk by chunk with numcodecs, as zarr-python 2 did."""
    folder = ROOT / path
    folder.mkdir(parents=True)
    name = dtype
    if dtype in ("string", "bytes"):
        name = "|O"
        codec = numcodecs.VLenUTF8() if dtype == "string" else numcodecs.VLenBytes()
        filters = [codec, *(filters or [])]
        kind = dtype
    else:
        kind = native(dtype)
        name = kind.str if not kind.fields else [
            [n, t if isinstance(t, str) else t] for n, t in dtype
        ]
    metadata = {
        "zarr_format": 2,
        "shape": list(shape),
        "chunks": list(chunks),
        "dtype": name,
        "compressor": compressor and compressor.get_config(),
        "filters": [each.get_config() for each in filters] if filters else None,
        "fill_value": fill,
        "order": order,
    }
    if separator != ".":
        metadata["dimension_separator"] = separator
    (folder / ".zarray").write_text(json.dumps(metadata))
    if attributes is not None:
        (folder / ".zattrs").write_text(json.dumps(attributes))
    elements = random_elements(kind, shape)
    grid = [range(-(-length // chunk)) for length, chunk in zip(shape, chunks)]
    for i, place in enumerate(itertools.product(*grid)):
        if absent and i % 2 == 1:
            continue
        part = elements[tuple(slice(at * n, (at + 1) * n) for at, n in zip(place, chunks))]
        chunk = np.zeros(chunks, dtype=part.dtype, order=order)
        if part.dtype == object:
            chunk[...] = "" if dtype == "string" else b""
        chunk[tuple(slice(0, n) for n in part.shape)] = part
        encoded = chunk if order == "C" else np.asfortranarray(chunk)
        for codec in [*(filters or []), *([compressor] if compressor else [])]:
            encoded = codec.encode(encoded)
        file = folder / (separator.join(map(str, place)) or "0")
        file.parent.mkdir(parents=True, exist_ok=True)
        data = encoded if isinstance(encoded, bytes) else np.asarray(encoded).tobytes(order="A")
        file.write_bytes(data)


def slug(dtype):
    return "fields" if isinstance(dtype, list) else "".join(
        {"<": "l", ">": "b", "|": ""}.get(c, c) for c in dtype if c not in "[]"
    )


def main():
    ROOT.mkdir(parents=True, exist_ok=True)
    groups = ["", "types", "orders", "filters", "fills", "compressors", "images", "deep", "deep/er"]
    for group in groups:
        (ROOT / group).mkdir(exist_ok=True)
        (ROOT / group / ".zgroup").write_text('{"zarr_format": 2}')
    attributes = {"_ARRAY_DIMENSIONS": ["y", "x"], "scale": 1.0, "big": 2**64 - 1, "NaN": "NaN"}
    (ROOT / ".zattrs").write_text(json.dumps({"title": "all", "version": 1.10}))
    for dtype in [*NUMBERS, *OTHERS, "string", "bytes"]:
        write(f"types/{slug(dtype)}", dtype, compressor=COMPRESSORS["blosc"], attributes=attributes,
              fill=None)
        for name, compressor in COMPRESSORS.items():
            if name == "blosc" or dtype in NUMBERS[7:-2] and name not in ("blosc_auto", "zstd"):
                continue
            write(f"compressors/{name}_{slug(dtype)}", dtype, compressor=compressor, fill=None)
        for order, separator in itertools.product("CF", "./"):
            if (order, separator) == ("C", "."):
                continue
            name = f"orders/{slug(dtype)}_{order}_{'dot' if separator == '.' else 'slash'}"
            write(name, dtype, order=order, separator=separator, compressor=COMPRESSORS["zstd"],
                  fill=None)
    for rank in range(6):
        shape, chunks = (3, 4, 2, 5, 3)[:rank], (2, 3, 2, 2, 1)[:rank]
        for order, separator in itertools.product("CF", "./"):
            name = f"orders/rank{rank}_{order}_{'dot' if separator == '.' else 'slash'}"
            write(name, ">i4", shape=shape, chunks=chunks, order=order, separator=separator)
    for name, filters, dtype in FILTERS:
        for order, code in itertools.product("CF", ["none", "blosc_auto", "zlib"]):
            write(f"filters/{name}_{order}_{code}", dtype, order=order, filters=filters,
                  compressor=COMPRESSORS[code], fill=None)
    write("filters/string_F", "string", order="F", filters=[numcodecs.CRC32()], fill="")
    for dtype, fills in FILLS.items():
        for i, fill in enumerate(fills):
            write(f"fills/{slug(dtype)}_{i}", FIELDS if dtype == "fields" else dtype, fill=fill,
                  absent=True)
    images.register_codecs(verbose=False)
    for name, dtype, shape in IMAGES:
        codec = getattr(images, name)()
        write(f"images/{name.lower()}", dtype, shape=shape, chunks=shape, compressor=codec)
    write("deep/er/array", "<f4", compressor=COMPRESSORS["lz4"], attributes={"nothing": None})
    write("deep/empty", "<f4", shape=(0, 3), chunks=(1, 3))
    write("deep/none", "<f4", shape=(4, 3), chunks=(5, 5))


def consolidate():
    documents = {}
    for path in sorted(ROOT.rglob(".z*")):
        documents[path.relative_to(ROOT).as_posix()] = json.loads(path.read_text())
    (ROOT / ".zmetadata").write_text(
        json.dumps({"zarr_consolidated_format": 1, "metadata": documents})
    )


main()
consolidate()
