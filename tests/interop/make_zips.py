"""Writes a collection of zip files with arrays, and the elements of the arrays.

Each case has a folder with files, the options of `adoptZip` as JSON, and either the
elements of the array (little endian, C order) or a part of the expected refusal.
"""

import hashlib
import json
import shutil
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
import zarr

warnings.filterwarnings("ignore")

ROOT = Path(sys.argv[1])
CASES = []
RNG = np.random.default_rng(3)
SHAPE = (35, 50)
KEY = "c/0/0.zip"


def elements(shape=SHAPE, dtype="uint16"):
    data = np.arange(np.prod(shape)).reshape(shape) * 7 + RNG.integers(0, 3, shape)
    return data.astype(dtype)


def case(name, expected=None, refused=None, options={}, **more):
    folder = ROOT / name
    entry = {"name": name, "options": options, "refused": refused, **more}
    if expected is not None:
        expected = np.asarray(expected, order="C")
        entry["shape"] = list(expected.shape)
        entry["dtype"] = expected.dtype.newbyteorder("<").str
        path = ROOT / f"{name}.raw"
        path.write_bytes(expected.astype(entry["dtype"]).tobytes())
        entry["elements"] = str(path)
    entry["checksums"] = {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    CASES.append(entry)


def file(name, key=KEY):
    path = ROOT / name / key
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def zip_store(path, data, change=None, at="", compression=zipfile.ZIP_STORED, **options):
    """Writes a zip by zarr-python."""
    options = {"chunks": tuple(min(n, 10) for n in data.shape), **options}
    store = zarr.storage.ZipStore(path, mode="w", compression=compression)
    if at:
        node = zarr.create_group(store).create_array(at, shape=data.shape, dtype=data.dtype, **options)
        node.attrs["unit"] = "m"  # The document is in the zip twice then.
    else:
        node = zarr.create_array(store, shape=data.shape, dtype=data.dtype, **options)
    node[...] = data
    if change:
        change(node)
    store.close()


def stored(name, data=None, refused=None, **options):
    data = elements() if data is None else data
    zip_store(file(name, "/".join(["c", *"0" * data.ndim]) + ".zip"), data, **options)
    case(name, None if refused else data, refused)


def zip_stores():
    stored("zip-store")
    for dtype in ["int8", "uint32", "float32", "float64", "bool", "int64"]:
        stored(f"zip-store-{dtype}", elements(dtype=dtype) if dtype != "bool" else elements() % 3 == 0)
    stored("rank-1", elements((33,)))
    stored("rank-3", elements((7, 12, 9)), chunks=(3, 5, 9))
    scalar = elements(()) + 1  # zarr-python stores no chunk of fill values alone.
    zip_store(file("rank-0", "c.zip"), scalar)
    case("rank-0", scalar, zarrita=False)  # zarrita gives an element there.
    stored("one-chunk", chunks=SHAPE)
    for codec in ["gzip", "none"]:
        compressors = {"gzip": zarr.codecs.GzipCodec(), "none": None}[codec]
        stored(codec, compressors=compressors)
    stored("big-endian", serializer=zarr.codecs.BytesCodec(endian="big"))
    stored("keys-of-v2", chunk_key_encoding={"name": "v2", "separator": "."})
    stored("dotted-keys", chunk_key_encoding={"name": "default", "separator": "."})
    stored("shards", shards=(20, 20))
    stored("shards-with-index-at-start", shards={"shape": (20, 20), "index_location": "start"})
    data = elements()
    data[:10, 10:30] = 9
    stored("absent-chunks", data, fill_value=9)
    stored("deflated", refused="compressed by deflate", compression=zipfile.ZIP_DEFLATED)
    stored("lzma", refused="compressed by LZMA", compression=zipfile.ZIP_LZMA)

    def write_again(array):
        array[0, 0] = 1

    stored("twice", refused="twice: write the file again", change=write_again)
    data = elements()
    zip_store(file("group"), data, at="x/y")
    case("group", refused='name the array by the option "array"')
    group = file("in-group")
    with zipfile.ZipFile(file("group")) as source, zipfile.ZipFile(group, "w") as target:
        for path in dict.fromkeys(source.namelist()):
            target.writestr(path, source.read(path))
    case("in-group", data, options={"array": "x/y"})
    store = zarr.storage.ZipStore(file("version-2"), mode="w")
    zarr.create_array(store, shape=(4,), chunks=(2,), dtype="u1", zarr_format=2)
    store.close()
    case("version-2", refused="found a Zarr v2 array")


def names():
    """Names that do not number all dimensions, and whose numbers start at 1 or count by 10."""
    days = elements((6, 20, 30), "float32")
    for name, format, first, step in [("days", "day_{0+1:03}.zip", 1, 1), ("tens", "day_{0*10:03}.zip", 0, 10)]:
        for i in range(3):
            path = file(name, f"day_{first + i * step:03}.zip")
            zip_store(path, days[2 * i : 2 * i + 2], chunks=(1, 10, 15))
        encoding = {"name": "template", "configuration": {"format": format}}
        case(name, days, options={"chunkKeyEncoding": encoding, "dimensionNames": ["day", None, "x"]})


def folder_of(name, data):
    """Writes an array into a folder, for programs that pack folders."""
    folder = ROOT / f"{name}.folder"
    zarr.create_array(folder, shape=data.shape, dtype=data.dtype, chunks=(10, 10))[...] = data
    return folder


def packed(name, *options, refused=None, then=lambda path: None, stream=False):
    """Packs a folder by Info-ZIP."""
    data = elements()
    folder = folder_of(name, data)
    path = file(name)
    target = "-" if stream else str(path)
    run = subprocess.run(
        ["zip", "-q", "-r", *options, target, "."], cwd=folder, check=True, stdout=subprocess.PIPE
    )
    if stream:
        path.write_bytes(run.stdout)
    then(path)
    shutil.rmtree(folder)
    case(name, None if refused else data, refused)


def with_bytes_before(path):
    path.write_bytes(b"#!/bin/sh\nexit\n" + path.read_bytes())


def with_offsets_adjusted(path):
    with_bytes_before(path)
    subprocess.run(["zip", "-q", "-A", path], check=True)


def with_bytes_after(path):
    path.write_bytes(path.read_bytes() + b"\n")


def with_comment(path):
    subprocess.run(["zip", "-q", "-z", path], check=True, input=b"PK\x05\x06 is no end\n")


def cut(path):
    path.write_bytes(path.read_bytes()[:-100])


def cut_in_the_middle(path):
    whole = path.read_bytes()
    path.write_bytes(whole[:1000] + whole[1100:])


def info_zip():
    packed("info-zip", "-0")
    packed("info-zip-without-extra", "-0", "-X")
    packed("info-zip-without-folders", "-0", "-D")
    packed("info-zip-streamed", "-0", stream=True)
    packed("info-zip-64", "-0", "-fz")
    packed("info-zip-with-comment", "-0", then=with_comment)
    packed("info-zip-after-a-script", "-0", then=with_offsets_adjusted)
    packed("info-zip-deflated")  # zip stores chunks that it cannot make smaller.
    packed("info-zip-encrypted", "-0", "-P", "secret", refused="encrypted")
    packed("bytes-before", "-0", then=with_bytes_before, refused="has 15 bytes before the zip")
    packed("bytes-after", "-0", then=with_bytes_after, refused="has bytes after the zip")
    packed("cut", "-0", then=cut, refused="was cut")
    packed("cut-in-the-middle", "-0", then=cut_in_the_middle, refused="it was cut, or changed")


class Unseekable:
    """A file of which zipfile writes the sizes after the bytes."""

    def __init__(self, path):
        self.file = open(path, "wb")

    def write(self, data):
        return self.file.write(data)

    def flush(self):
        self.file.flush()

    def close(self):
        self.file.close()


def by_zipfile():
    for name, target, zip64 in [
        ("zipfile-streamed", Unseekable, False),
        ("zipfile-64", lambda path: open(path, "wb"), True),
        ("zipfile-64-streamed", Unseekable, True),
    ]:
        data = elements()
        folder = folder_of(name, data)
        opened = target(file(name))
        with zipfile.ZipFile(opened, "w") as packed:
            for path in sorted(folder.rglob("*")):
                if path.is_file():
                    with packed.open(str(path.relative_to(folder)), "w", force_zip64=zip64) as entry:
                        entry.write(path.read_bytes())
        opened.close()
        shutil.rmtree(folder)
        case(name, data)


def many():
    """More entries than a zip without zip64 has."""
    data = elements()
    path = file("many")
    zip_store(path, data)
    with zipfile.ZipFile(path, "a") as packed:
        for i in range(65_600):
            packed.writestr(f"other/{i}", b"")
    case("many", data)


def mosaics():
    template = {"name": "template", "configuration": {"format": "y{0}_x{1}.zip"}}
    data = elements((50, 70))
    for name, options, pattern, missing in [
        ("mosaic", {}, "c/{}/{}.zip", ()),
        ("mosaic-by-names", {"chunkKeyEncoding": template}, "y{}_x{}.zip", ()),
        ("mosaic-without-a-file", {}, "c/{}/{}.zip", [(0, 1)]),
    ]:
        expected = data.copy()
        for y in range(2):
            for x in range(2):
                place = np.s_[y * 30 : (y + 1) * 30, x * 40 : (x + 1) * 40]
                if (y, x) in missing:
                    expected[place] = 0
                else:
                    zip_store(file(name, pattern.format(y, x)), data[place], chunks=(10, 20))
        case(name, expected, options=options)
    zip_store(file("links", "first.zip"), data[:30], chunks=(10, 20))
    zip_store(file("links", "second.zip"), data[30:], chunks=(10, 20))
    files = [{"key": "/second.zip", "coordinates": [1, 0]}, {"key": "/first.zip", "coordinates": [0, 0]}]
    case("links", data, options={"files": files, "link": True})


for make in [zip_stores, names, info_zip, by_zipfile, many, mosaics]:
    make()
(ROOT / "cases.json").write_text(json.dumps(CASES), "utf-8")
