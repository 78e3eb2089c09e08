"""Reads and writes arrays by a library of Python, as `volume_peer.ts` asks.

The argument is the name of the library. The first line of the output says whether the
library is there. Each line of the input is then a command: the name of a method, and its
arguments by name, in JSON. Each line of the output is its answer: a sample of what was
read.
"""

import asyncio
import json
import sys
import traceback
import zlib

SAMPLE_STRIDE = 16_411  # As in volume_data.ts.


def is_url(path):
    return path.startswith("http:")


def slices_of(regions):
    return [tuple(slice(*ends) for ends in region) for region in regions]


class ZarrPython:
    def __init__(self):
        import numpy
        import zarr.api.asynchronous

        self.numpy, self.zarr = numpy, zarr
        # One loop for all commands, since each loop has threads of its own.
        self.loop = asyncio.new_event_loop()

    def store(self, path):
        if is_url(path):
            return self.zarr.storage.FsspecStore.from_url(path, read_only=True)
        return path

    def read(self, path, regions=None):
        """Reads all elements, or those of regions at the same time."""
        if regions is None:
            return [self.zarr.open_array(self.store(path), mode="r")[...]]

        async def read():
            array = await self.zarr.api.asynchronous.open_array(store=path, mode="r")
            reads = (array.getitem(region) for region in slices_of(regions))
            return await asyncio.gather(*reads)

        return self.loop.run_until_complete(read())

    def write(self, path):
        self.zarr.open_array(path, mode="r+")[...] = self.volume
        return []

    def load(self, file, shape, dtype):
        """Reads the elements of the volume that is written, and compared."""
        self.volume = self.numpy.fromfile(file, dtype).reshape(shape)
        return []

    def check(self, path, regions=None):
        """Compares what is read with the volume."""
        expected = [self.volume]
        if regions is not None:
            expected = [self.volume[region] for region in slices_of(regions)]
        for elements, found in zip(expected, self.read(path, regions), strict=True):
            assert self.numpy.array_equal(elements, found), f"{path} has other elements"
        return []


class Zarrs(ZarrPython):
    def __init__(self):
        super().__init__()
        import zarrs

        self.zarr.config.set({"codec_pipeline.path": f"{zarrs.__name__}.ZarrsCodecPipeline"})


class TensorStore(ZarrPython):
    def __init__(self):
        import numpy
        import tensorstore

        self.numpy, self.tensorstore = numpy, tensorstore

    def open(self, path):
        context = self.tensorstore.Context({"cache_pool": {"total_bytes_limit": 0}})
        place = {"driver": "file", "path": path}
        if is_url(path):
            place = {"driver": "http", "base_url": path}
        spec = {"driver": "zarr3", "kvstore": place}
        return self.tensorstore.open(spec, context=context).result()

    def read(self, path, regions=None):
        array = self.open(path)
        if regions is None:
            return [array.read().result()]
        reads = [array[region].read() for region in slices_of(regions)]
        return [read.result() for read in reads]

    def write(self, path):
        self.open(path).write(self.volume).result()
        return []


def sample_of(arrays):
    checksum = 0
    for array in arrays:
        sample = array.reshape(-1).view("uint8")[::SAMPLE_STRIDE]
        checksum = zlib.crc32(sample.tobytes(), checksum)
    return checksum


def answer(**fields):
    print(json.dumps(fields), flush=True)


if __name__ == "__main__":
    libraries = {"zarr-python": ZarrPython, "zarrs": Zarrs, "TensorStore": TensorStore}
    try:
        library = libraries[sys.argv[1]]()
        answer(sample=0)
    except ImportError as error:
        answer(problem=str(error))
        sys.exit()
    for line in sys.stdin:
        [name, arguments] = json.loads(line)
        try:
            answer(sample=sample_of(getattr(library, name)(**arguments)))
        except Exception:
            answer(problem=traceback.format_exc())
