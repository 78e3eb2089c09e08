"""Compares arrays in zip shards with those that they were made of, and tests each file."""

import json
import sys
import warnings
from pathlib import Path
from zipfile import ZipFile

import numpy
import zarr

warnings.filterwarnings("ignore")
folder = Path(sys.argv[1])
problems = []
count = 0
for case in json.loads((folder / "cases.json").read_text()):
    name = f"{case['path']}/{case['array']}" if "array" in case else case["path"]
    # The index is the comment of each zip, so that zarr-python knows all of the array.
    source = zarr.open_array(folder / name, mode="r")
    stored = zarr.open_array(folder / "zips" / name, mode="r")
    if stored.dtype != source.dtype or not numpy.array_equal(stored[...], source[...]):
        problems.append(f"{name}: zarr-python reads other elements")
    for path in (folder / "zips" / name / "c").rglob("*"):
        if path.is_file():
            with ZipFile(path) as file:
                if file.testzip() is not None or not file.namelist():
                    problems.append(f"{path} is damaged")
            count += 1
if count < 40:
    problems.append(f"There are {count} files")
if problems:
    sys.exit("\n".join(problems[:20]))
