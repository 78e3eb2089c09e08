"""Compares arrays with attributes of CF, by xarray, with TIFF files, by GDAL: arrays that become TIFF files, and TIFF files that become arrays.

    cf_attributes.py write FOLDER
    cf_attributes.py compare FOLDER
    cf_attributes.py adopt FOLDER
    cf_attributes.py adopted FOLDER
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import rasterio
import rioxarray
import xarray as xr

warnings.filterwarnings("ignore")
mode, folder = sys.argv[1], Path(sys.argv[2])
SHAPE = (40, 50)
UNIT, NAME = 'm < "n" & µ', "Wärme & <b> 'c' &amp;"

# The data type in the store, and what xarray encodes elements by.
ENCODINGS = {
    "int16": ("int16", {"_FillValue": -9999}),
    "zero": ("uint8", {"_FillValue": 0}),
    "most": ("uint8", {"_FillValue": 255}),
    "uint16": ("uint16", {"missing_value": 7}),
    "both": ("int32", {"_FillValue": -1, "missing_value": -1}),
    "nan": ("float32", {"_FillValue": float("nan")}),
    "float32": ("float32", {"_FillValue": 1e20}),
    "float64": ("float64", {"_FillValue": -9999.0}),
    "inf": ("float64", {"_FillValue": float("inf")}),
    "packed": ("int16", {"_FillValue": -32768, "scale_factor": 0.01, "add_offset": 273.15}),
    "scaled": ("uint16", {"_FillValue": 9, "scale_factor": 2.5e-7}),
    "none": ("float32", {"_FillValue": None}),
}


def elements(dtype):
    random = np.random.default_rng(3)
    low = 0 if dtype.startswith("u") else -99
    return random.integers(low, 199, SHAPE).astype(dtype)


def write():
    for zarr_format in (2, 3):
        for name, (dtype, encoding) in ENCODINGS.items():
            missing = encoding.get("_FillValue", encoding.get("missing_value"))
            stored = elements(dtype)
            if missing is not None:
                stored[5:20, 10:] = missing
            attributes = {k: v for k, v in encoding.items() if v is not None}
            if name != "none":
                attributes |= {"units": UNIT, "long_name": NAME}
            variable = xr.Variable(("y", "x"), stored, attributes)
            # As it is stored, without a change of elements.
            decoded = xr.conventions.decode_cf_variable("a", variable)
            if missing is None:
                decoded.encoding["_FillValue"] = None
            decoded.encoding["chunks"] = (20, 25)
            xr.Dataset({"a": decoded}).to_zarr(
                folder / f"{name}-{zarr_format}", zarr_format=zarr_format, consolidated=False
            )


def compare():
    problems = []
    for path in sorted(folder.glob("*-[23]")):
        expected = xr.open_zarr(path, consolidated=False)["a"]
        raw = xr.open_zarr(path, consolidated=False, mask_and_scale=False)["a"].values
        for file in (folder / "tiffs" / path.name / "a").rglob("*.tif"):
            with rasterio.open(file) as dataset:
                assert dataset.shape == SHAPE, file
                found = dataset.read(1)
                mask = dataset.read_masks(1) == 0
                told = [dataset.scales, dataset.offsets, dataset.units, dataset.descriptions]
            attributes = ENCODINGS[path.name[:-2]][1]
            texts = [(None,)] * 2 if path.name.startswith("none") else [(UNIT,), (NAME,)]
            numbers = [(attributes.get("scale_factor", 1),), (attributes.get("add_offset", 0),)]
            if told != [*numbers, *texts]:
                problems.append(f"{file}: {told}")
            if not np.array_equal(found, raw, equal_nan=found.dtype.kind == "f"):
                problems.append(f"{file}: other elements")
            # Elements that are no numbers are missing for xarray in any case.
            masked = np.isnan(expected.values)
            if path.name.startswith("none"):
                masked = np.zeros(SHAPE, bool)
            if masked.any() == path.name.startswith("none"):
                problems.append(f"{path}: {masked.sum()} missing")
            if not np.array_equal(mask, masked):
                problems.append(f"{file}: {mask.sum()} missing, and not {masked.sum()}")
            break
        else:
            problems.append(f"{path}: no file")
    if problems:
        sys.exit("\n".join(problems))


# The data type, the number of bands, and properties of GDAL.
TIFFS = {
    "plain": ("uint8", 1, {}),
    "nodata": ("int16", 1, {"nodata": -9999}),
    "nan": ("float32", 1, {"nodata": float("nan")}),
    "scaled": ("int16", 1, {"nodata": 7, "scales": [0.01], "offsets": [273.15], "units": [UNIT]}),
    "names": ("uint8", 3, {"scales": [0.5] * 3, "descriptions": ["red", NAME, "b"]}),
    "same": ("float64", 2, {"nodata": 1e20, "descriptions": [NAME] * 2, "offsets": [-1.5] * 2}),
    "different": ("uint8", 2, {"nodata": 3, "scales": [1, 2], "offsets": [4, 4]}),
}


def adopt():
    (folder / "files").mkdir()
    for name, (dtype, count, properties) in TIFFS.items():
        values = elements(dtype)
        values[3:9] = properties.get("nodata", 0)
        options = dict(driver="GTiff", tiled=True, blockxsize=16, blockysize=16)
        with rasterio.open(
            folder / "files" / f"{name}.tif",
            "w",
            width=SHAPE[1],
            height=SHAPE[0],
            dtype=dtype,
            count=count,
            nodata=properties.get("nodata"),
            transform=rasterio.Affine(30, 0, 500, 0, -20, 900),
            crs="EPSG:32632",
            **options,
        ) as dataset:
            for i in range(count):
                dataset.write(values, i + 1)
            for key in ("scales", "offsets", "units", "descriptions"):
                if key in properties:
                    setattr(dataset, key, properties[key])


def adopted():
    for name, (dtype, count, properties) in TIFFS.items():
        expected = rioxarray.open_rasterio(
            folder / "files" / f"{name}.tif", mask_and_scale=name != "different"
        )
        array = xr.open_dataset(
            folder / "plain" / f"{name}.zarr",
            engine="zarr",
            consolidated=False,
            mask_and_scale=name != "different",
        )["data"]
        found = array.transpose("band", "y", "x") if count > 1 else array.expand_dims("band")
        # One of them computes with 32 bits.
        np.testing.assert_allclose(found.values, expected.values, 1e-6, err_msg=name)
        for key in ("units", "long_name"):
            told = expected.attrs.get(key)
            told = list(told) if isinstance(told, tuple) else told
            assert array.attrs.get(key) == told, (name, key, array.attrs, told)
        assert ("scale_factor" in array.encoding) == (
            set(properties.get("scales", [1])) in ({0.01}, {0.5})
        ), name


{"write": write, "compare": compare, "adopt": adopt, "adopted": adopted}[mode]()
