"""Writes arrays of any codecs, chunks and attributes, and says where their places on the earth are."""

import json
import sys
import warnings
from pathlib import Path

import numpy
import rasterio
import zarr
from zarr.codecs import (
    BloscCodec,
    BytesCodec,
    GzipCodec,
    ShardingCodec,
    TransposeCodec,
    ZstdCodec,
)

warnings.filterwarnings("ignore")
folder = Path(sys.argv[1])
BLOSC = BloscCodec(cname="lz4", clevel=5, shuffle="shuffle")
CRS = rasterio.crs.CRS.from_epsg(32632)
TRANSFORM = [30.0, 0.0, 399960.0, 0.0, -20.0, 5300040.0]
GEO_TRANSFORM = "399960.0 30.0 0.0 5300040.0 0.0 -20.0"


def values(shape, dtype):
    """Numbers that depend on their place, of which some tiles are the fill value."""
    count = int(numpy.prod(shape))
    numbers = (numpy.arange(count, dtype="int64") * 7919 + 13) % 60013
    numbers = numbers.reshape(shape)
    if dtype == "bool":
        numbers = numbers % 3 == 0
    elif dtype.startswith("complex"):
        numbers = numbers + 1j * (numbers % 97)
    elif dtype.startswith("float"):
        numbers = numbers / 8 - 900
    elif dtype in ("int64", "uint64"):
        numbers = numbers * 3**20
    array = numbers.astype(dtype)
    array[..., shape[-2] * 2 // 3 :, :] = 0
    return array


def create(path, shape, dtype, chunks, names=None, attributes=None, **codecs):
    array = zarr.create_array(
        store=folder / path,
        shape=shape,
        dtype=dtype,
        chunks=chunks,
        fill_value=0,
        dimension_names=names,
        attributes=attributes or {},
        **codecs,
    )
    array[...] = values(shape, dtype)
    return array


cases = []


def case(path, shape, dtype, chunks, *, options=(), bands=None, place=None, **rest):
    create(path, shape, dtype, chunks, **rest)
    cases.append(
        {
            "path": path,
            "options": list(options),
            "bands": bands,
            "transform": place,
        }
    )


case("blosc", (100, 150), "uint16", (90, 90), compressors=BLOSC)
case("gzip", (100, 150), "int16", (90, 90), compressors=GzipCodec(level=5))
case("none", (100, 150), "float64", (100, 150), compressors=None)
case("zstd", (100, 150), "uint8", (30, 50), compressors=ZstdCodec(level=3))
case("planes", (12, 70, 90), "float32", (5, 40, 50), compressors=BLOSC)
case("series", (40, 30, 33), "float32", (40, 10, 11), compressors=BLOSC)
case("five", (2, 2, 3, 40, 50), "uint16", (1, 2, 2, 40, 25), compressors=BLOSC)
case(
    "order",
    (60, 70),
    "int32",
    (30, 35),
    filters=[TransposeCodec(order=(1, 0))],
    compressors=BLOSC,
)
case("big", (60, 70), "int32", (30, 35), serializer=BytesCodec(endian="big"))
case(
    "shards",
    (3, 100, 150),
    "uint16",
    (1, 25, 30),
    shards=(3, 100, 90),
    bands="first",
)
case("colors", (50, 60, 3), "uint8", (50, 20, 1), bands="last")
case("alpha", (50, 60, 4), "uint16", (25, 60, 4), bands="last")
case(
    "bands",
    (5, 50, 60),
    "uint16",
    (2, 25, 60),
    names=("band", "y", "x"),
    bands="first",
)
case("codecs", (90, 90), "uint16", (30, 30), options=["--codecs", "zlib:9"])
case("tiles", (90, 90), "uint16", (30, 30), options=["--chunks", "16,32"])
case("files", (90, 90), "uint16", (30, 30), options=["--shards", "64,96"])
for name in (
    *("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"),
    *("uint64", "float16", "float32", "float64", "complex64", "complex128"),
):
    case(f"type_{name}", (40, 50), name, (33, 50), compressors=BLOSC)

# Places on the earth.
GEOZARR = {
    "spatial:dimensions": ["y", "x"],
    "spatial:transform": TRANSFORM,
    "proj:wkt2": CRS.to_wkt(),
}
PARTS = ["--shards", "32,48"]
case(
    "geozarr",
    (70, 90),
    "uint16",
    (30, 40),
    options=PARTS,
    attributes=GEOZARR,
    names=("y", "x"),
    place=TRANSFORM,
)
turned = [30.0, 5.0, 399960.0, -3.0, 20.0, 5300040.0]
case(
    "turned",
    (70, 90),
    "uint16",
    (30, 40),
    options=PARTS,
    attributes={**GEOZARR, "spatial:transform": turned},
    names=("y", "x"),
    place=turned,
)
case(
    "options",
    (70, 90),
    "uint16",
    (30, 40),
    options=["--georeference", "399960,5298640,402660,5300040,EPSG:32632"],
    place=TRANSFORM,
)
world = folder / "options.tfw"
world.write_text("30\n0\n0\n-20\n399975\n5300030\n")
(folder / "options.prj").write_text(CRS.to_wkt())
case(
    "world",
    (70, 90),
    "uint16",
    (30, 40),
    options=["--georeference", str(world)],
    place=TRANSFORM,
)
with rasterio.open(
    folder / "place.tif",
    "w",
    driver="GTiff",
    width=90,
    height=70,
    count=1,
    dtype="uint8",
    crs=CRS,
    transform=rasterio.Affine(*TRANSFORM),
):
    pass
case(
    "geotiff",
    (70, 90),
    "uint16",
    (30, 40),
    options=["--georeference", str(folder / "place.tif")],
    place=TRANSFORM,
)
for path, attributes, beside in (
    ("rioxarray", {"grid_mapping": "crs"}, {"crs_wkt": CRS.to_wkt(), "GeoTransform": GEO_TRANSFORM}),
    ("coordinates", {"grid_mapping": "crs"}, {"spatial_ref": CRS.to_wkt("WKT1_GDAL")}),
):
    zarr.create_group(folder / path)
    create(f"{path}/a", (70, 90), "uint16", (30, 40), ("y", "x"), attributes)
    zarr.create_array(folder / path / "crs", shape=(), dtype="int64", attributes=beside)
    for name, count, first, step in (("y", 70, 5300030, -20), ("x", 90, 399975, 30)):
        line = zarr.create_array(
            folder / path / name, shape=(count,), dtype="float64", dimension_names=(name,)
        )
        line[...] = first + step * numpy.arange(count)
    cases.append(
        {"path": path, "array": "a", "options": ["--only", "a"], "transform": TRANSFORM}
    )
with rasterio.open(
    folder / "gdal",
    "w",
    driver="Zarr",
    width=90,
    height=70,
    count=1,
    dtype="uint16",
    crs=CRS,
    transform=rasterio.Affine(*TRANSFORM),
    nodata=0,
    FORMAT="ZARR_V3",
) as dataset:
    dataset.write(values((1, 70, 90), "uint16"))
cases.append(
    {"path": "gdal", "array": "gdal", "options": ["--only", "gdal"], "transform": TRANSFORM}
)

# The levels of OME-Zarr.
MICROMETERS = {"type": "space", "unit": "micrometer"}
zarr.create_group(
    folder / "cells",
    attributes={
        "ome": {
            "version": "0.5",
            "multiscales": [
                {
                    "name": "cells & µm",
                    "axes": [
                        {"name": "t", "type": "time", "unit": "second"},
                        {"name": "c", "type": "channel"},
                        *({"name": name, **MICROMETERS} for name in "zyx"),
                    ],
                    "datasets": [
                        {
                            "path": str(level),
                            "coordinateTransformations": [
                                {
                                    "type": "scale",
                                    "scale": [1, 1, 2, 0.5 * 2**level, 0.25 * 2**level],
                                }
                            ],
                        }
                        for level in (0, 1)
                    ],
                }
            ],
            "omero": {
                "channels": [
                    {"label": "DAPI", "color": "0000FF"},
                    {"label": "GFP", "color": "00FF00"},
                ]
            },
        }
    },
)
for level, (height, width) in enumerate(((90, 110), (45, 55))):
    create(
        f"cells/{level}",
        (2, 2, 3, height, width),
        "uint16",
        (1, 1, 1, 50, 60),
        tuple("tczyx"),
        compressors=BLOSC,
    )
    ome = {"axes": "TCZYX", "pixel": [0.25 * 2**level, 0.5 * 2**level, 2], "level": level}
    cases.append({"path": "cells", "array": str(level), "options": [], "ome": ome})
(folder / "cases.json").write_text(json.dumps(cases))
