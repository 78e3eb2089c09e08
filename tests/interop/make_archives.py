"""Packs a group of arrays into archives by several programs.

Usage: make_archives.py FOLDER

Writes FOLDER/archives.json: a list of archives with their names, the path of the group in
the archive, and whether zarr-python's ZipStore opens it. FOLDER/ARRAY.bin holds the elements
of each array in little endian, as ZipStore and LocalStore read them.
"""

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import zarr
from zarr.storage import LocalStore, ZipStore

ROOT = Path(sys.argv[1])
RNG = np.random.default_rng(9)
SHAPES = {
    "plain": {"shape": (50, 70), "chunks": (20, 30), "dtype": "uint16"},
    "sharded": {
        "shape": (90, 80),
        "shards": (64, 64),
        "chunks": (16, 16),
        "dtype": "float32",
    },
    "raw": {"shape": (33,), "chunks": (8,), "dtype": "int64", "compressors": None},
    "empty": {"shape": (4, 4), "chunks": (2, 2), "dtype": "uint8", "fill_value": 7},
    "nested/deep": {"shape": (9,), "chunks": (4,), "dtype": "float64"},
}
ELEMENTS = {
    name: RNG.integers(0, 200, array["shape"]).astype(array["dtype"])
    for name, array in SHAPES.items()
    if name != "empty"
}


def fill(store, zarr_format=3):
    group = zarr.open_group(store, mode="w", zarr_format=zarr_format)
    for name, options in SHAPES.items():
        options = dict(options)
        if zarr_format == 2:
            options.pop("shards", None)
        array = group.create_array(name, **options)
        if name in ELEMENTS:
            array[:] = ELEMENTS[name]


def by_zip_store(name, **options):
    store = ZipStore(ROOT / name, mode="w", **options)
    fill(store, 2 if "v2" in name else 3)
    store.close()


def by_info_zip(name, *options, folder="x.zarr"):
    inside = folder != "."
    subprocess.run(
        ["zip", "-q", "-r", *options, ROOT / name, folder],
        cwd=ROOT if inside else ROOT / "x.zarr",
        check=True,
    )


def by_zipfile(name, write):
    with zipfile.ZipFile(ROOT / name, "w") as archive:
        write(archive)


def files():
    folder = ROOT / "x.zarr"
    return [
        (path.relative_to(folder).as_posix(), path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    ]


def ozx(archive):
    """As RFC-9 of NGFF recommends: documents first, stored, zip64, a comment."""
    def order(file):
        name = file[0]
        return (not name.endswith("zarr.json"), name.count("/"), name)

    for name, content in sorted(files(), key=order):
        with archive.open(name, "w", force_zip64=True) as entry:
            entry.write(content)
    archive.comment = b'{"ome": {"version": "0.5"}}\0'


def replaced(archive):
    """Entries that were written twice, as ZipStore does for values that change."""
    for name, content in files():
        archive.writestr(name, b"an earlier value")
    for name, content in files():
        archive.writestr(name, content)


def methods(archive):
    for i, (name, content) in enumerate(files()):
        method = [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED][i % 2]
        archive.writestr(name, content, compress_type=method, compresslevel=i % 10)


class Unseekable:
    """A pipe, into which zip files are written with data descriptors."""

    def __init__(self, path):
        self.file = open(path, "wb")

    def write(self, data):
        return self.file.write(data)

    def flush(self):
        self.file.flush()


def streamed(name, method):
    pipe = Unseekable(ROOT / name)
    with zipfile.ZipFile(pipe, "w", method) as archive:
        for file, content in files():
            archive.writestr(file, content)
    pipe.file.close()


def by_program(name, program, *arguments):
    """Packs the folder by a program that may be missing."""
    if shutil.which(program) is None:
        return
    names = [path.name for path in sorted((ROOT / "x.zarr").iterdir())]
    subprocess.run(
        [program, *arguments, ROOT / name, *names],
        cwd=ROOT / "x.zarr",
        stdout=subprocess.DEVNULL,
        check=True,
    )


fill(LocalStore(ROOT / "x.zarr"))
by_zip_store("zip_store.zarr.zip")
by_zip_store("zip_store_deflated.zarr.zip", compression=zipfile.ZIP_DEFLATED)
by_zip_store("zip_store_v2.zarr.zip")
by_zip_store("zip_store_v2_deflated.zarr.zip", compression=zipfile.ZIP_DEFLATED)
by_zipfile("image.ozx", ozx)
by_zipfile("replaced.zip", replaced)
by_zipfile("methods.zip", methods)
streamed("streamed.zip", zipfile.ZIP_STORED)
streamed("streamed_deflated.zip", zipfile.ZIP_DEFLATED)
by_info_zip("info_zip.zip", folder=".")
by_info_zip("info_zip_stored.zip", "-0", folder=".")
by_info_zip("info_zip_folder.zip")
by_info_zip("info_zip_streamed.zip", "-fd", folder=".")
by_info_zip("info_zip_comment.zip", "-0", "-fz", folder=".")
by_program("jar.zip", "jar", "-c", "-f")
by_program("bsdtar.zip", "bsdtar", "--format", "zip", "-c", "-f")
by_program("7zip.zip", "7zz", "a", "-tzip")
by_program("7zip_stored.zip", "7zz", "a", "-tzip", "-mx0")
found = sorted(ROOT.glob("*.zip")) + sorted(ROOT.glob("*.ozx"))

archives = []
for path in found:
    in_folder = path.name == "info_zip_folder.zip"
    with ZipStore(path, mode="r") as store:
        group = zarr.open_group(store, mode="r", path="x.zarr" if in_folder else None)
        for name in SHAPES:
            elements = group[name][...]
            if name in ELEMENTS:
                assert np.array_equal(elements, ELEMENTS[name]), (path, name)
            else:
                assert (elements == 7).all()
    archives.append(path.name)

for name in SHAPES:
    elements = ELEMENTS.get(name, np.full((4, 4), 7, "uint8"))
    file = ROOT / f"{name.replace('/', '_')}.bin"
    file.write_bytes(elements.astype(elements.dtype.newbyteorder("<")).tobytes())
(ROOT / "archives.json").write_text(json.dumps(archives))
