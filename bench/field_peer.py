"""Reads or copies an array by a library of Python, with the arguments of `field.ts`.

The first argument is the name of the library. Prints the peak memory in KiB.
"""

import argparse
import asyncio
import itertools


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("library", choices=["tensorstore_python", "zarr_python", "zarrs_python"])
    parser.add_argument("--read_all", action="store_true")
    parser.add_argument("--subchunks", action="store_true")
    parser.add_argument("--concurrent_chunks", type=int, default=1)
    parser.add_argument("path")
    parser.add_argument("output", nargs="?")
    return parser.parse_args()


def regions(shape, chunk):
    """The regions of a grid of chunks that begins at the origin."""
    axes = (
        [slice(start, min(start + step, size)) for start in range(0, size, step)]
        for size, step in zip(shape, chunk, strict=True)
    )
    return itertools.product(*axes)


async def for_each(items, concurrency, work):
    """Takes items one after another, in so many tasks at once."""
    items = iter(items)

    async def task():
        for item in items:
            await work(item)

    await asyncio.gather(*(task() for _ in range(concurrency)))


async def by_tensorstore(args):
    import tensorstore

    def opening(path, **members):
        kvstore = {"driver": "file", "path": path}
        return tensorstore.open({"driver": "zarr3", "kvstore": kvstore, **members})

    array = await opening(args.path)
    layout = array.chunk_layout
    if args.read_all:
        await array.read()
    elif args.output is None:
        inner = regions(array.shape, layout.read_chunk.shape)
        await for_each(inner, args.concurrent_chunks, lambda region: array[region].read())
    else:
        target = await opening(
            args.output, schema=array.schema.to_json(), create=True, delete_existing=True
        )
        outer = regions(array.shape, layout.write_chunk.shape)

        async def copy(region):
            await target[region].write(await array[region].read())

        await for_each(outer, 2, copy)


async def by_zarr(args):
    import zarr.api.asynchronous as zarr

    if args.library == "zarrs_python":
        import zarrs  # noqa: F401, which registers the pipeline
        from zarr import config

        config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"})

    array = await zarr.open_array(store=args.path, mode="r")
    if args.read_all:
        await array.getitem(...)
    elif args.output is None:
        await for_each(
            regions(array.shape, array.chunks), args.concurrent_chunks, array.getitem
        )
    else:
        target = await zarr.create_array(
            args.output,
            shape=array.shape,
            dtype=array.dtype,
            chunks=array.chunks,
            shards=array.shards,
            compressors=array.compressors or None,
            overwrite=True,
        )

        async def copy(region):
            await target.setitem(region, await array.getitem(region))

        await for_each(regions(array.shape, array.shards or array.chunks), 2, copy)


arguments = parse()
read_or_copy = by_tensorstore if arguments.library == "tensorstore_python" else by_zarr
asyncio.run(read_or_copy(arguments))
# ru_maxrss would count the memory of the process that started this one, too.
with open("/proc/self/status") as status:
    print(next(line for line in status if line.startswith("VmHWM:")).split()[1])
