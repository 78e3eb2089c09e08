"""Reads served arrays with another client: `read_served.py LISTING`.

The listing names a client, and for each array the code that opens it as `array`, or the
name of a GDAL dataset, the window to read, and the file that takes the elements, little
endian and in C order. The client writes its errors by path to `LISTING.refused`.
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np

import exchange

warnings.simplefilter("ignore")  # Codecs and data sets without a place on the earth.


def read_by_code(code, window):
    names = {}
    exec(code, names)
    array = names["array"][window]
    return np.asarray(array.read().result() if hasattr(array, "read") else array)


def read_by_gdal(name, window):
    import rasterio

    with rasterio.open(name) as dataset:
        return dataset.read(1, window=window or None)


def register_packbits():
    """Registers `packbits`, which zarr-python does not have. Of uint8 it is the same as `bytes`."""
    import zarr

    class PackBits(zarr.codecs.BytesCodec):
        @classmethod
        def from_dict(cls, data):
            return cls(endian=None)

        def to_dict(self):
            return {"name": "packbits"}

    zarr.registry.register_codec("packbits", PackBits)


def main(path):
    listing = json.loads(path.read_text("utf-8"))
    if listing["client"].startswith("zarr-python"):
        register_packbits()
    refused = {}
    for array in listing["arrays"]:
        try:
            if "gdal" in array:
                window = tuple(map(tuple, array["window"]))
                elements = read_by_gdal(array["gdal"], window)
            else:
                window = tuple(slice(*pair) for pair in array["window"])
                elements = read_by_code(array["code"], window or ...)
            Path(array["file"]).write_bytes(exchange.as_elements(np, elements))
        except Exception as error:
            refused[array["path"]] = f"{type(error).__name__}: {error}"
    Path(f"{path}.refused").write_text(json.dumps(refused), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
