"""Writes arrays with attributes of CF by xarray, or compares what xarray reads in them with TIFF files.

    cf_attributes.py write FOLDER
    cf_attributes.py compare FOLDER
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import rasterio
import xarray as xr

warnings.filterwarnings("ignore")
mode, folder = sys.argv[1], Path(sys.argv[2])
SHAPE = (40, 50)

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


write() if mode == "write" else compare()
