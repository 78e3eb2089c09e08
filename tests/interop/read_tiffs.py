"""Compares TIFF files, as tifffile and GDAL read them, with the elements in a list."""

import json
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy
import rasterio
import tifffile
import zarr

warnings.filterwarnings("ignore", category=rasterio.errors.NotGeoreferencedWarning)


def same(found, expected):
    if found.shape != expected.shape:
        return False
    if found.dtype != expected.dtype:  # GDAL widens float16.
        expected = expected.astype(found.dtype)
    found = numpy.ascontiguousarray(found.astype(found.dtype.newbyteorder("=")))
    return found.tobytes() == numpy.ascontiguousarray(expected).tobytes()


def by_tifffile(path, expected, case):
    with tifffile.TiffFile(path) as file:
        for page in file.pages:
            for name, value in case.get("tags", {}).items():
                found = page.tags[name].value
                if json.loads(json.dumps(found)) != value:
                    return f"{name} is {found}, and not {value}"
        pages = numpy.stack([page.asarray() for page in file.pages])
    return same(pages.reshape(expected.shape), expected)


def by_gdal(path, expected, case):
    """Reads each page as (band, y, x)."""
    shape = expected.shape
    bands = case.get("bands")
    if bands is None:
        planes = expected.reshape(-1, 1, *shape[-2:])
    elif bands == "first":
        planes = expected.reshape(-1, *shape[-3:])
    else:
        planes = numpy.moveaxis(expected.reshape(-1, *shape[-3:]), -1, 1)
    for page, plane in enumerate(planes):
        with rasterio.open(f"GTIFF_DIR:{page + 1}:{path}") as dataset:
            if "transform" in case:
                found = list(dataset.transform)[:6]
                is_there = numpy.allclose(found, case["transform"], 1e-12, 1e-12)
                if not is_there or dataset.crs.to_epsg() != case["epsg"]:
                    return f"{found} in {dataset.crs} is another place"
            if not same(dataset.read(), plane):
                return False
    return True


def by_libtiff(path, expected, case):
    """Reads all tiles; only the tags of GeoTIFF and GDAL are unknown to libtiff."""
    run = subprocess.run(["tiffinfo", "-D", path], capture_output=True, text=True)
    messages = [
        line
        for line in run.stderr.splitlines()
        if not re.search(r"Unknown field with tag (42113|33550|33922|3473[567]) ", line)
    ]
    return run.returncode == 0 and not messages or "\n".join(messages)


def by_zarr(path, expected, case):
    return same(zarr.open_array(path, mode="r")[...], expected)


READERS = {
    "tifffile": by_tifffile,
    "GDAL": by_gdal,
    "libtiff": by_libtiff,
    "zarr-python": by_zarr,
}

problems = []
for case in json.loads(Path(sys.argv[1]).read_text("utf-8")):
    raw = Path(case["elements"]).read_bytes()
    expected = numpy.frombuffer(raw, case["dtype"]).reshape(case["shape"])
    for reader in case["readers"]:
        try:
            result = READERS[reader](case["path"], expected, case)
        except Exception as error:
            result = repr(error)
        if result is not True:
            problems.append(f"{reader}, {case['name']}: {result or 'other elements'}")
if problems:
    sys.exit("\n".join(problems))
