"""Writes and reads the array of a volume by zarr-python, as `volume_peer.ts` asks.

Each line of the input is a command, and each line of the output its answer:
`create FOLDER`, `write`, and `check FOLDER`, which compares an array with the volume.
"""

import json
import shutil
import sys

import numpy
import zarr

shape, shard, chunk, level = json.loads(sys.argv[2])
volume = numpy.fromfile(sys.argv[1], dtype="uint16").reshape(shape)
array = None
for line in sys.stdin:
    command, _, folder = line.strip().partition(" ")
    if command == "create":
        shutil.rmtree(folder, ignore_errors=True)
        array = zarr.create_array(
            folder,
            shape=volume.shape,
            dtype=volume.dtype,
            chunks=chunk,
            shards=shard,
            compressors=zarr.codecs.ZstdCodec(level=level),
            fill_value=0,
        )
    elif command == "write":
        array[...] = volume
    elif command == "check":
        found = zarr.open_array(folder, mode="r")[...]
        assert numpy.array_equal(found, volume), f"{folder} has other elements"
    print("done", flush=True)
