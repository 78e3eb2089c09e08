"""Writes arrays of Zarr v2 by xarray, and compares them with arrays of Zarr v3 that were made of them, as xarray reads both.

    xarray_masks.py write FOLDER
    xarray_masks.py compare FOLDER OTHER
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import xarray as xr

warnings.filterwarnings("ignore")
mode, folder = sys.argv[1], Path(sys.argv[2])
GAPS = np.array([1.5, np.nan, -3.25, 0.0, np.nan, 7.5])
TIMES = np.array(["2001-02-03", "NaT", "1999-12-31", "2020-01-01", "NaT", "2001-02-03"], "M8[ns]")

# Elements, and what xarray encodes them by.
ARRAYS = {
    "packed": (GAPS, {"dtype": "int16", "_FillValue": -32768, "scale_factor": 0.25, "add_offset": 5.0}),
    "zero": (np.array([1.0, np.nan, 3, 4, np.nan, 6]), {"dtype": "uint8", "_FillValue": 0}),
    "long": (np.array([1.0, np.nan, 3, 4, np.nan, 6]), {"dtype": "int64", "_FillValue": -(2**62)}),
    "minus999": (GAPS, {"dtype": "float32", "_FillValue": -999}),
    "tenth": (GAPS, {"dtype": "float32", "_FillValue": 0.1}),
    "nan": (GAPS, {"dtype": "float64", "_FillValue": np.nan}),
    "half": (GAPS, {"dtype": "float16", "_FillValue": np.inf}),
    "big": (GAPS, {"dtype": ">f4", "_FillValue": -999}),
    "none": (GAPS, {"dtype": "float32", "_FillValue": None}),
    "times": (TIMES, {"dtype": "int64", "_FillValue": -(2**63), "units": "days since 2000-01-01"}),
    "float_times": (TIMES, {"dtype": "float64", "_FillValue": -1e6, "units": "hours since 2000-01-01"}),
    "durations": (np.array([1, "NaT", 3, 4, 5, 6], "m8[ns]"), {"dtype": "int32", "_FillValue": -1, "units": "nanoseconds"}),
    "flags": (np.array([True, False, True, True, False, False]), {"dtype": "bool"}),
    "complex": (np.array([1 + 2j, -999, 3j, 4, -999, 6]), {"dtype": "complex64", "_FillValue": np.complex64(-999)}),
    "texts": (np.array(["a", "", "ccc", "dd", "missing", "f"], object), {"_FillValue": "missing"}),
    "empty_texts": (np.array(["a", "", "ccc", "dd", "", "f"], object), {"_FillValue": ""}),
    "fixed_texts": (np.array(["a", "", "ccc", "dd", "e", "f"]), {}),
}


def variables():
    for name, (values, encoding) in ARRAYS.items():
        yield name, xr.DataArray(values, dims="x", attrs={"units_of": name}), encoding


if mode == "write":
    for name, array, encoding in variables():
        xr.Dataset({name: array}).to_zarr(
            folder / f"{name}.zarr", zarr_format=2, encoding={name: encoding}, consolidated=name != "zero"
        )
    (folder / "fixed_texts.zarr" / ".zmetadata").unlink()
    path = folder / "fixed_texts.zarr" / "fixed_texts" / ".zarray"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"fill_value": "e"}))
    # Other programs write the attribute beside the fill value, as a number.
    path = folder / "minus999.zarr" / "minus999"
    attributes = json.loads((path / ".zattrs").read_text())
    for other in ["both", "only"]:
        (folder / f"{other}.zarr").mkdir()
        (folder / f"{other}.zarr" / ".zgroup").write_text('{"zarr_format": 2}')
        copy = folder / f"{other}.zarr" / other
        copy.mkdir()
        array = json.loads((path / ".zarray").read_text())
        (copy / ".zarray").write_text(json.dumps(array | ({"fill_value": None} if other == "only" else {})))
        (copy / ".zattrs").write_text(json.dumps(attributes | {"_FillValue": -999.0}))
        (copy / "0").write_bytes((path / "0").read_bytes())
else:
    wrong = []
    for path in sorted(folder.glob("*.zarr")):
        name = path.stem
        before = xr.open_zarr(path, zarr_format=2, consolidated=False)[name].load()
        if name != "flags" and not before.isnull().any():
            wrong.append(f"{name} has no missing elements in Zarr v2")
        try:
            after = xr.open_zarr(Path(sys.argv[3]) / path.name, zarr_format=3)[name].load()
        except Exception as error:
            wrong.append(f"{name}: {error}")
            continue
        # The attribute of Zarr v2 that names the dimensions stays.
        after.attrs.pop("_ARRAY_DIMENSIONS")
        if not before.identical(after):
            wrong.append(f"{name}: {before.values} {before.attrs} became {after.values} {after.attrs}")
    if wrong:
        sys.exit("\n".join(wrong))
