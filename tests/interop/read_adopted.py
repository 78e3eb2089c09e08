"""Compares arrays, as zarr-python and imagecodecs read them, with the elements in files."""

import base64
import importlib.util
import io
import json
import sys
import warnings
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import imagecodecs
import numpy as np
import zarr
from zarr.abc.codec import ArrayArrayCodec, ArrayBytesCodec, BytesBytesCodec
from zarr.registry import register_codec

warnings.simplefilter("ignore")

IS_NEW = importlib.util.find_spec("imagecodecs.zarr") is not None
if not IS_NEW:  # Before imagecodecs 2026.5.10.

    class Codec:
        """A codec as in `imagecodecs/zarr.py`."""

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


    class Packints(Codec, ArrayBytesCodec):
        async def _decode_single(self, chunk, spec):
            options = dict(self.options)
            decoded = imagecodecs.packints_decode(
                chunk.to_bytes(), spec.dtype.to_native_dtype(), options["bitspersample"], runlen=options["runlen"]
            )
            return spec.prototype.nd_buffer.from_ndarray_like(decoded.reshape(spec.shape))


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


    for name, base in [("jpeg", Jpeg), ("packints", Packints), ("lzw", ToBytes), ("packbits", ToBytes), ("delta", ToArray), ("floatpred", ToArray)]:
        codec = dataclass(frozen=True)(
            type(name, (base,), {"__annotations__": {"options": tuple}, "name": f"imagecodecs_{name}"})
        )
        register_codec(f"imagecodecs_{name}", codec)

wrong = []
for case in json.loads(Path(sys.argv[1]).read_text("utf-8")):
    limit = case.get("python")
    try:
        names = {"array": None if IS_NEW else zarr.open_array(case["path"], mode="r", zarr_format=3)}
        if IS_NEW:
            with redirect_stdout(io.StringIO()):
                exec(case["code"], names)  # The lines of the page.
        array = names["array"]
        expected = np.fromfile(case["elements"], case["dtype"]).reshape(case["shape"])
        found = np.asarray(array[...])
        if found.astype(case["dtype"]).tobytes() != expected.tobytes() or found.shape != expected.shape:
            wrong.append(f"{case['name']}: {found.dtype} {found.shape} has other elements")
        if limit is not None:
            wrong.append(f"{case['name']}: no error")
    except Exception as error:
        if limit is None or limit not in str(error):
            wrong.append(f"{case['name']}: {error!r}")
if wrong:
    sys.exit("\n".join(wrong))
