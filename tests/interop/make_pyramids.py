"""Writes TIFFs with overviews by tifffile and GDAL, and the elements of their levels.

Each case has files with their grid coordinates, and for each level the elements (little
endian, C order) in the order of dimensions that `adoptPyramid` gives them.
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import rasterio
import rasterio.shutil
import tifffile
from rasterio.transform import Affine

warnings.filterwarnings("ignore")

ROOT = Path(sys.argv[1])
CASES = []
RNG = np.random.default_rng(22)


def elements(shape, dtype="uint16"):
    data = np.arange(np.prod(shape)).reshape(shape) * 3 + RNG.integers(0, 5, shape)
    return data.astype(dtype)


def case(name, files, levels, **more):
    entry = {"name": name, "files": files, "levels": [], **more}
    for number, level in enumerate(levels):
        level = np.asarray(level, order="C")
        path = ROOT / f"{name}.{number}.raw"
        dtype = level.dtype.newbyteorder("<").str
        path.write_bytes(level.astype(dtype).tobytes())
        entry["levels"].append({"shape": level.shape, "dtype": dtype, "elements": str(path)})
    CASES.append(entry)


def levels_of(data, axes, count):
    y = axes.index("Y")
    for n in range(count + 1):
        yield data[(slice(None),) * y + (slice(None, None, 2**n),) * 2]


def ordered(data, axes):
    """Elements as t, c, z, y, x, with the samples of pixels as the last channels."""
    if "S" in axes:
        samples = axes.index("S")
        if "C" in axes:
            data = np.moveaxis(data, samples, axes.index("C") + 1)
            axes = axes.replace("S", "")
            c = axes.index("C")
            shape = data.shape
            data = data.reshape(*shape[:c], shape[c] * shape[c + 1], *shape[c + 2 :])
        else:
            axes = axes.replace("S", "C")
    data = data.transpose([axes.index(axis) for axis in "TCZYX" if axis in axes])
    return data.reshape([n for i, n in enumerate(data.shape) if n > 1 or i >= data.ndim - 2])


def ome(name, axes, shape, dtype="uint16", count=2, metadata={}, expected={}, **options):
    """An OME-TIFF of tifffile, with levels in sub-directories."""
    data = elements(shape, dtype)
    path = ROOT / f"{name}.ome.tif"
    options = {"tile": (32, 32), **options}
    levels = list(levels_of(data, axes, count))
    with tifffile.TiffWriter(path) as file:
        file.write(levels[0], subifds=count, metadata={"axes": axes, **metadata}, **options)
        for level in levels[1:]:
            file.write(level, subfiletype=1, **options)
    # What tifffile reads: JPEG loses some of it.
    read = [level.asarray() for level in tifffile.TiffFile(path).series[0].levels]
    found = tifffile.TiffFile(path).series[0].axes
    levels = [ordered(level, found) for level in read]
    rank = levels[0].ndim
    files = [{"key": f"/{path.name}", "coordinates": [0] * rank}]
    case(name, files, levels, ome=expected)


ome("yx", "YX", (100, 80), metadata={"PhysicalSizeX": 0.5, "PhysicalSizeXUnit": "nm"}, expected={"x": [0.5, "nanometer"]})
ome(
    "czyx",
    "CZYX",
    (3, 4, 64, 96),
    compression="zlib",
    metadata={"PhysicalSizeZ": 2, "Channel": {"Name": ["DAPI", "GFP", "RFP"]}},
    expected={"z": [2, "micrometer"], "labels": ["DAPI", "GFP", "RFP"]},
)
ome("tczyx", "TCZYX", (2, 3, 4, 64, 64), compression="zstd", metadata={"TimeIncrement": 0.1}, expected={"t": [0.1, "second"]})
for axes, shape in [("CTZYX", (3, 2, 4, 64, 64)), ("TZCYX", (2, 4, 3, 48, 64)), ("ZTCYX", (2, 3, 4, 32, 32))]:
    ome(axes.lower(), axes, shape)
ome("yxs", "YXS", (128, 96, 3), "uint8", photometric="rgb")
ome("zyxs", "ZYXS", (4, 64, 64, 3), "uint8", photometric="rgb", compression="zlib", predictor=2)
ome("zsyx", "ZSYX", (4, 3, 64, 64), "uint8", photometric="rgb", planarconfig="separate")
ome("tczyxs", "TCZYXS", (2, 2, 3, 64, 64, 3), "uint8", photometric="rgb")
ome("jpeg", "YXS", (128, 128, 3), "uint8", photometric="rgb", compression="jpeg")
ome("float", "ZYX", (5, 64, 64), "float32", compression="lzw")
ome("flat", "ZYX", (5, 40, 56), count=0)

path = ROOT / "imagej.tif"
data = elements((2, 3, 4, 40, 50), "uint8")
tifffile.imwrite(path, data, imagej=True, metadata={"axes": "TZCYX", "spacing": 0.5, "unit": "um", "finterval": 2.0})
case(
    "imagej",
    [{"key": "/imagej.tif", "coordinates": [0] * 5}],
    [ordered(data, "TZCYX")],
    ome={"z": [0.5, "micrometer"], "t": [2, "second"]},
)

# Pages of one size, and then those of each smaller one, as scanners of slides write them.
path = ROOT / "chain.tif"
data = elements((4, 128, 128), "uint8")
with tifffile.TiffWriter(path) as file:
    for n in (1, 2, 4):
        for page in data[:, ::n, ::n]:
            file.write(page, tile=(32, 32), subfiletype=int(n > 1), metadata=None)
    file.write(data[0, ::8, ::8], subfiletype=1, metadata=None)
case("chain", [{"key": "/chain.tif", "coordinates": [0, 0, 0]}], [data[:, ::n, ::n] for n in (1, 2, 4)])


def cog(path, data, transform, crs, options, tags={}):
    profile = {
        "driver": "GTiff",
        "width": data.shape[2],
        "height": data.shape[1],
        "count": data.shape[0],
        "dtype": data.dtype.name,
        "transform": transform,
        "crs": crs,
    }
    plain = path.with_suffix(".plain.tif")
    with rasterio.open(plain, "w", **profile) as file:
        file.write(data)
        file.update_tags(**tags)
    rasterio.shutil.copy(plain, path, driver="COG", blocksize=128, **options)
    plain.unlink()
    levels = []
    with rasterio.open(path) as file:
        levels.append(file.read())
        count = len(file.overviews(1))
        told = {"transform": list(file.transform)[:6], "epsg": file.crs.to_epsg() if file.crs else None}
    for n in range(count):
        with rasterio.open(path, overview_level=n) as file:
            levels.append(file.read())
    return levels, told


def geo(name, bands=1, dtype="int16", transform=Affine(30, 0, 399960, 0, -30, 5300040), crs="EPSG:32632", tags={}, **options):
    options = {"compress": "zstd", "overview_count": 2, **options}
    path = ROOT / f"{name}.tif"
    levels, told = cog(path, elements((bands, 500, 400), dtype), transform, crs, options, tags)
    levels = [level[0] if bands == 1 else np.moveaxis(level, 0, -1) for level in levels]
    rank = levels[0].ndim
    case(name, [{"key": f"/{path.name}", "coordinates": [0] * rank}], levels, geo=told)


geo("cog")
geo("cog_deflate", compress="deflate", predictor="yes")
geo("cog_plain", compress="none", dtype="float32")
geo("cog_rgb", bands=3, dtype="uint8")
geo("cog_degrees", transform=Affine(0.001, 0, -84.4, 0, -0.001, 36.7), crs="EPSG:4326")
geo("cog_rotated", transform=Affine(20, 10, 399960, 10, -20, 5300040))
geo("cog_point", tags={"AREA_OR_POINT": "Point"})
geo("cog_user", crs="+proj=laea +lat_0=10 +lon_0=20 +datum=WGS84")

# A mosaic of 2 × 2 files, of which those at the edges are smaller.
whole = elements((1, 512 + 200, 512 + 100), "uint16")
files, parts, told = [], [], None
for row, (y, height) in enumerate([(0, 512), (512, 200)]):
    for column, (x, width) in enumerate([(0, 512), (512, 100)]):
        path = ROOT / f"mosaic_{row}_{column}.tif"
        transform = Affine(10, 0, 1000 + 10 * x, 0, -10, 9000 - 10 * y)
        data = whole[:, y : y + height, x : x + width]
        options = {"compress": "zstd", "overview_count": 2}
        levels, each = cog(path, data, transform, "EPSG:3857", options)
        told = told or each
        files.append({"key": f"/{path.name}", "coordinates": [row, column]})
        parts.append(levels)
levels = [
    np.block([[parts[0][n][0], parts[1][n][0]], [parts[2][n][0], parts[3][n][0]]])
    for n in range(3)
]
case("mosaic", files, levels, geo=told)

(ROOT / "cases.json").write_text(json.dumps(CASES), "utf-8")
