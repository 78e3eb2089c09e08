"""Writes TIFFs with JPEG tiles by GDAL and tifffile, and lists the tiles with what imagecodecs decodes."""

import base64
import json
import sys
import warnings
from pathlib import Path

import imagecodecs
import numpy
import rasterio
import tifffile

warnings.filterwarnings("ignore", category=rasterio.errors.NotGeoreferencedWarning)

folder = Path(sys.argv[1])
random = numpy.random.default_rng(3)
y, x = numpy.mgrid[0:150, 0:200]
waves = [numpy.sin(x / 17 + k) * 60 + numpy.cos(y / 11) * 50 + 128 for k in range(4)]
noisy = numpy.stack(waves, -1) + random.normal(0, 9, (150, 200, 4))
picture = numpy.clip(noisy, 0, 255).astype("u1")
tiles = []


def add(name, page):
    """Lists the tiles of a page, with the configuration that reads them."""
    handle = page.parent.filehandle
    photometric = page.photometric.name
    colors = {
        "MINISBLACK": {},
        "RGB": {"colorspace_jpeg": "RGB", "colorspace_data": "RGB"},
        "YCBCR": {"colorspace_jpeg": "YCbCr", "colorspace_data": "RGB"},
    }[photometric]
    tables = page.jpegtables
    for i, (offset, count) in enumerate(zip(page.dataoffsets, page.databytecounts)):
        handle.seek(offset)
        tile = handle.read(count)
        decoded = imagecodecs.jpeg8_decode(
            tile,
            tables=tables,
            colorspace=colors.get("colorspace_jpeg"),
            outcolorspace=colors.get("colorspace_data"),
        )
        by_tifffile = page.decode(tile, i, jpegtables=tables)[0]
        if decoded.tobytes() != by_tifffile.tobytes():
            sys.exit(f"imagecodecs decodes other samples of {name} than tifffile")
        encoded = None if tables is None else base64.b64encode(tables).decode()
        tiles.append(
            {
                "name": f"{name}, tile {i}",
                "configuration": colors | ({} if tables is None else {"tables": encoded}),
                "shape": decoded.shape,
                "tile": base64.b64encode(tile).decode(),
                "decoded": base64.b64encode(decoded.tobytes()).decode(),
            }
        )


def by_gdal(name, bands, **options):
    path = folder / f"{name}.tiff"
    profile = {"driver": "GTiff", "height": 150, "width": 200, "count": bands}
    profile |= {"dtype": "uint8", "compress": "jpeg", "tiled": True}
    profile |= {"blockxsize": 64, "blockysize": 48} | options
    with rasterio.open(path, "w", **profile) as file:
        file.write(numpy.moveaxis(picture[..., :bands], -1, 0))
    with tifffile.TiffFile(path) as file:
        add(f"{name} of GDAL", file.pages[0])
    if options.get("photometric") == "ycbcr":
        return  # The libjpeg in rasterio's wheel rounds subsampled colors differently.
    with rasterio.open(path) as file:
        read = numpy.moveaxis(file.read(), 0, -1)
    with tifffile.TiffFile(path) as file:
        planes = file.asarray()
    if planes.shape[0] == bands > 1:
        planes = numpy.moveaxis(planes, 0, -1)
    if planes.tobytes() != numpy.ascontiguousarray(read).tobytes():
        sys.exit(f"GDAL reads other samples of {name} than tifffile")


def by_tifffile(name, bands, **options):
    path = folder / f"{name}.tif"
    data = picture[..., 0] if bands == 1 else picture[..., :bands]
    tifffile.imwrite(path, data, compression="jpeg", tile=(64, 32), **options)
    with tifffile.TiffFile(path) as file:
        add(f"{name} of tifffile", file.pages[0])


for quality in (30, 75, 100):
    by_gdal(f"gray, {quality}", 1, jpeg_quality=quality)
    by_gdal(f"RGB, {quality}", 3, photometric="rgb", jpeg_quality=quality)
    by_gdal(f"YCbCr, {quality}", 3, photometric="ycbcr", jpeg_quality=quality)
by_gdal("planes", 3, photometric="minisblack", interleave="band")
by_gdal("without tables", 3, photometric="ycbcr", jpegtablesmode=0)
by_gdal("Huffman tables of each tile", 3, photometric="ycbcr", jpegtablesmode=1)
by_gdal("tables for all tiles", 3, photometric="ycbcr", jpegtablesmode=3)
by_tifffile("gray", 1)
for subsampling in ((1, 1), (2, 1), (2, 2), (4, 1)):
    by_tifffile(f"YCbCr, {subsampling}", 3, subsampling=subsampling)
by_tifffile("RGB", 3, compressionargs={"outcolorspace": "rgb"}, photometric="rgb")
(folder / "tiles.json").write_text(json.dumps(tiles), "utf-8")
