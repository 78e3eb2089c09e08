"""Compares arrays, as zarr-python and imagecodecs read them, with the elements in files."""

import base64
import json
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

import imagecodecs
import numpy as np
import zarr
from zarr.abc.codec import ArrayArrayCodec, ArrayBytesCodec, BytesBytesCodec
from zarr.registry import register_codec

warnings.simplefilter("ignore")


class Codec:
    """A codec as in `imagecodecs/zarr.py`, which newer versions of imagecodecs have."""

    is_fixed_size = False

    @classmethod
    def from_dict(cls, data):
        return cls(tuple(sorted((data.get("configuration") or {}).items())))

    def to_dict(self):
        return {"name": self.name, "configuration": dict(self.options)}

    def compute_encoded_size(self, size, spec):
        return size

    @property
    def by(self):
        return getattr(imagecodecs, f"{self.name.removeprefix('imagecodecs_')}_decode")


class ToBytes(Codec, BytesBytesCodec):
    async def _decode_single(self, chunk, spec):
        decoded = self.by(chunk.to_bytes())
        return spec.prototype.buffer.from_bytes(bytes(decoded))


class ToArray(Codec, ArrayArrayCodec):
    is_fixed_size = True

    def resolve_metadata(self, spec):
        return spec

    async def _decode_single(self, chunk, spec):
        stored = chunk.as_ndarray_like()
        native = np.ascontiguousarray(stored.astype(stored.dtype.newbyteorder("=")))
        decoded = self.by(native, **dict(self.options))
        return spec.prototype.nd_buffer.from_ndarray_like(decoded.reshape(stored.shape))


class Jpeg(Codec, ArrayBytesCodec):
    async def _decode_single(self, chunk, spec):
        options = dict(self.options)
        tables = options.get("tables")
        decoded = imagecodecs.jpeg8_decode(
            chunk.to_bytes(),
            tables=None if tables is None else base64.b64decode(tables),
            colorspace=options.get("colorspace_jpeg"),
            outcolorspace=options.get("colorspace_data"),
        )
        return spec.prototype.nd_buffer.from_ndarray_like(decoded.reshape(spec.shape))


for name, base in [("jpeg", Jpeg), ("lzw", ToBytes), ("packbits", ToBytes), ("delta", ToArray), ("floatpred", ToArray)]:
    codec = dataclass(frozen=True)(
        type(name, (base,), {"__annotations__": {"options": tuple}, "name": f"imagecodecs_{name}"})
    )
    register_codec(f"imagecodecs_{name}", codec)

wrong = []
for case in json.loads(Path(sys.argv[1]).read_text("utf-8")):
    try:
        array = zarr.open_array(case["path"], mode="r", zarr_format=3)
        expected = np.fromfile(case["elements"], case["dtype"]).reshape(case["shape"])
        found = np.asarray(array[...])
        if found.astype(case["dtype"]).tobytes() != expected.tobytes() or found.shape != expected.shape:
            wrong.append(f"{case['name']}: {found.dtype} {found.shape} has other elements")
    except Exception as error:
        wrong.append(f"{case['name']}: {error!r}")
if wrong:
    sys.exit("\n".join(wrong))
