"""Compares zip files, as Info-ZIP, Python's zipfile and zarr-python read them, with what a list says."""

import base64
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy
import zarr


def run(*command):
    done = subprocess.run(command, capture_output=True)
    return done.returncode == 0 or (done.stdout + done.stderr)[-500:]


def by_unzip(path, case):
    return run("unzip", "-tqq", path)


def by_zip(path, case):
    named = f"{path}.test.zip"  # zip appends the extension where it is missing.
    os.link(path, named)
    return run("zip", "-Tqq", named)


def by_zipfile(path, case):
    with zipfile.ZipFile(path) as file:
        damaged = file.testzip()
        if damaged is not None:
            return f"{damaged} is damaged"
        entries = case.get("entries")
        if entries is None:
            count = len(file.namelist())
            return count == case["count"] or f"found {count} entries"
        names = [info.filename for info in file.infolist()]
        if names != [name for name, _ in entries]:
            return f"found the entries {names}"
        for name, expected in entries:
            if file.read(name) != base64.b64decode(expected):
                return f"{name} has other bytes"
        for info in file.infolist():
            if info.compress_type != zipfile.ZIP_STORED or info.flag_bits != 0x800:
                return f"{info} is not a stored entry with a name in UTF-8"
        return file.comment == base64.b64decode(case["comment"])


def by_zip_store(path, case):
    """Opens the file as an array of its own."""
    store = zarr.storage.ZipStore(path, mode="r")
    return same(zarr.open_array(store, mode="r"), case)


def by_zarr(path, case):
    """Opens the array of all shards."""
    return same(zarr.open_array(path, mode="r"), case)


def same(array, case):
    raw = Path(case["elements"]).read_bytes()
    expected = numpy.frombuffer(raw, case["dtype"]).reshape(case["shape"])
    found = array[...]
    return (
        found.shape == expected.shape
        and found.dtype == expected.dtype
        and found.tobytes() == expected.tobytes()
    )


READERS = {
    "unzip": by_unzip,
    "zip": by_zip,
    "zipfile": by_zipfile,
    "ZipStore": by_zip_store,
    "zarr-python": by_zarr,
}

problems = []
for case in json.loads(Path(sys.argv[1]).read_text("utf-8")):
    for reader in case["readers"]:
        try:
            result = READERS[reader](case["path"], case)
        except Exception as error:
            result = repr(error)
        if result is not True:
            problems.append(f"{reader}, {case['name']}: {result or 'other contents'}")
if problems:
    sys.exit("\n".join(problems))
