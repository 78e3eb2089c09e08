"""Prints how long reading by a `PartsStore` takes, beside zarr-python's reading of the plain copy.

    pip install ./python obstore
    python bench/python_package.py [ROUNDS]

The array has 4096 × 4096 numbers in shards of 1024 × 1024, whose indexes are parts of their
own. Both ways are measured in turn in each round, and the table has medians of ratios.
"""

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import obstore.store
import zarr
from zarr.storage import LocalStore, ObjectStore
from zarr_parts import PartsStore

SIZE, SHARD, CHUNK = 4096, 1024, 256
INDEX_SIZE = 16 * (SHARD // CHUNK) ** 2 + 4
PIPELINES = ["BatchedCodecPipeline", "FusedCodecPipeline"]
STORES = {
    "LocalStore": LocalStore,
    "obstore": lambda path: ObjectStore(obstore.store.LocalStore(path)),
}


def make_arrays(folder: Path, codec: object) -> None:
    """Write an array by zarr-python, and the same shards in two parts."""
    numbers = np.add.outer(np.arange(SIZE), np.arange(SIZE) // 7).astype("uint16")
    options = {"shards": (SHARD, SHARD), "chunks": (CHUNK, CHUNK), "compressors": codec}
    zarr.create_array(folder / "plain", data=numbers, **options)
    for path in (folder / "plain/c").rglob("*"):
        if path.is_file():
            stored = folder / "parts" / path.relative_to(folder / "plain")
            stored.parent.mkdir(parents=True, exist_ok=True)
            shard = path.read_bytes()
            Path(f"{stored}.shard").write_bytes(shard[:-INDEX_SIZE])
            Path(f"{stored}.shard.index").write_bytes(shard[-INDEX_SIZE:])
    document = json.loads((folder / "plain/zarr.json").read_text())
    document["chunk_key_encoding"] = {"name": "suffix", "configuration": {"suffix": ".shard"}}
    parts = [{"key_suffix": ""}, {"key_suffix": ".index", "size": INDEX_SIZE}]
    document["storage_transformers"] = [{"name": "concat-parts", "configuration": {"parts": parts}}]
    (folder / "parts/zarr.json").write_text(json.dumps(document))


def read_windows(array: zarr.Array) -> None:
    for at in range(0, SIZE - 100, 131):
        array[at : at + 100, SIZE - at - 100 : SIZE - at]


READS = {
    "the whole array": lambda array: array[...],
    "one shard": lambda array: array[SHARD : 2 * SHARD, :SHARD],
    "31 windows of 100 × 100": read_windows,
}


def seconds(read, array: zarr.Array) -> float:
    start = time.perf_counter()
    read(array)
    return time.perf_counter() - start


def main(rounds: int) -> None:
    print(f"zarr-python {zarr.__version__}, medians of {rounds} rounds\n")
    print(f"{'reads':24} {'codec':6} {'store':11} {'pipeline':9} {'plain':>9} {'parts':>9} {'ratio':>6}")
    for codec in (None, zarr.codecs.ZstdCodec()):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            make_arrays(folder, codec)
            for store, open_store in STORES.items():
                for pipeline in PIPELINES:
                    if not hasattr(zarr.core.codec_pipeline, pipeline):
                        continue
                    with zarr.config.set({"codec_pipeline.path": f"zarr.core.codec_pipeline.{pipeline}"}):
                        plain = zarr.open_array(open_store(folder / "plain"), mode="r")
                        parts = zarr.open_array(PartsStore(open_store(folder / "parts")), mode="r")
                        for title, read in READS.items():
                            np.testing.assert_array_equal(parts[:200, :200], plain[:200, :200])
                            pairs = [(seconds(read, plain), seconds(read, parts)) for _ in range(rounds)]
                            ratio = statistics.median(b / a for a, b in pairs)
                            times = [statistics.median(times) * 1000 for times in zip(*pairs, strict=True)]
                            row = f"{title:24} {'zstd' if codec else 'none':6} {store:11} {pipeline[:7]:9}"
                            print(f"{row} {times[0]:6.1f} ms {times[1]:6.1f} ms {ratio:6.2f}")


main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
