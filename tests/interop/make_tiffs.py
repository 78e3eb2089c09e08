"""Writes a collection of TIFF files, and what tifffile reads from them.

Each case has a folder with files, the options of `adoptTiffs` as JSON, and either the
elements of the array (little endian, C order) or a pattern of the expected refusal.
"""

import hashlib
import json
import sys
import warnings
from pathlib import Path

import numpy as np
import rasterio
import rasterio.shutil
import tifffile

warnings.filterwarnings("ignore")

ROOT = Path(sys.argv[1])
CASES = []
RNG = np.random.default_rng(7)
GRID = {"name": "template", "configuration": {"format": "y{0}_x{1}.tif"}}
BANDED = {"name": "template", "configuration": {"format": "b{2}/y{0}_x{1}.tif"}}
PLANES = {"name": "template", "configuration": {"format": "b{0}/y{1}_x{2}.tif"}}
STACK = {"name": "template", "configuration": {"format": "t{0:03}_y{1}_x{2}.tif"}}


def elements(shape, dtype):
    """Numbers that compress, with all bits in use."""
    dtype = np.dtype(dtype)
    ramp = np.add.outer(*[np.arange(n) for n in shape[:2]])
    for n in shape[2:]:
        ramp = np.add.outer(ramp, np.arange(n))
    if dtype.kind in "fc":
        noise = RNG.normal(size=shape) * (RNG.random(shape) < 0.2)
        data = (np.sin(ramp / 9) * 1000 + noise).astype(dtype)
        data.flat[3] = np.nan
        data.flat[5] = -0.0
        return data if dtype.kind == "f" else data + 1j * ramp.astype(dtype)
    noise = RNG.integers(0, 3, shape) * RNG.integers(0, 2**62, shape)
    with np.errstate(over="ignore"):
        return (ramp * 3 + noise * (RNG.random(shape) < 0.1)).astype(dtype)


def case(name, options, expected=None, refused=None, **more):
    folder = ROOT / name
    entry = {"name": name, "options": options, "refused": refused, **more}
    if expected is not None:
        expected = np.ascontiguousarray(expected)
        entry["shape"] = list(expected.shape)
        entry["dtype"] = expected.dtype.newbyteorder("<").str
        path = ROOT / f"{name}.raw"
        path.write_bytes(expected.astype(expected.dtype.newbyteorder("<")).tobytes())
        entry["elements"] = str(path)
    entry["checksums"] = {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    CASES.append(entry)


def blocks(data, shape):
    """The parts of an array along its first two dimensions, by their coordinates."""
    for y in range(0, data.shape[0], shape[0]):
        for x in range(0, data.shape[1], shape[1]):
            yield y // shape[0], x // shape[1], data[y : y + shape[0], x : x + shape[1]]


def read(path):
    with tifffile.TiffFile(path) as file:
        return file.pages[0].asarray()


def mosaic(name, data, shape, write, options=None, key=None, lossless=True, **more):
    """Files side by side. What tifffile reads from them is what is expected."""
    expected = np.empty_like(data)
    for y, x, block in blocks(data, shape):
        path = ROOT / name / (key or "y{y}_x{x}.tif").format(y=y, x=x)
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, block)
        found = read(path)
        if found.ndim == 3 and found.shape != block.shape:  # Bands first.
            found = np.moveaxis(found, 0, -1)
        expected[y * shape[0] :, x * shape[1] :][: block.shape[0], : block.shape[1]] = found
    if lossless:
        assert expected.tobytes() == data.tobytes(), name
    case(name, {"chunkKeyEncoding": GRID} if options is None else options, expected, **more)
    return expected


def by_tifffile(**options):
    def write(path, block):
        tifffile.imwrite(path, block, metadata=None, **options)

    return write


def by_gdal(**options):
    """Writes a block of (y, x) or (y, x, band)."""

    def write(path, block):
        bands = block[None] if block.ndim == 2 else np.moveaxis(block, -1, 0)
        profile = dict(count=bands.shape[0], height=bands.shape[1], width=bands.shape[2])
        with rasterio.open(
            path, "w", **{"driver": "GTiff", **profile, "dtype": block.dtype.name, **options}
        ) as dataset:
            dataset.write(bands)

    return write


def read_bands(path):
    with rasterio.open(path) as dataset:
        return np.moveaxis(dataset.read(), 0, -1)


def mosaics():
    tiles = dict(tiled=True, blockxsize=32, blockysize=16)
    by_compression = {
        "none": dict(),
        "deflate": dict(compress="deflate"),
        "lzw": dict(compress="lzw"),
        "zstd": dict(compress="zstd"),
        "packbits": dict(compress="packbits"),
    }
    # The main path: ten files of GDAL, of which the last ones are shorter.
    mosaic("gdal", elements((100, 300), "uint16"), (64, 64), by_gdal(**tiles, **by_compression["deflate"]))
    for name, options in by_compression.items():
        for dtype in ["uint8", "int16", "float32", "float64"]:
            data = elements((70, 100), dtype)
            for order in ["little", "big"]:
                more = {"endianness": order, "bigtiff": "yes" if dtype == "float64" else "no"}
                mosaic(f"gdal-{name}-{dtype}-{order}", data, (48, 64), by_gdal(**tiles, **options, **more))
    for name in ["deflate", "lzw", "zstd"]:
        for dtype in ["uint8", "int16", "uint32", "float32", "float64", "int64"]:
            data = elements((40, 64), dtype)
            for predictor in [2, 3] if dtype.startswith("float") else [2]:
                for order in ["little", "big"]:
                    mosaic(
                        f"gdal-{name}-{dtype}-{order}-predictor-{predictor}",
                        data,
                        (32, 32),
                        by_gdal(**tiles, compress=name, predictor=predictor, endianness=order),
                    )
    for order in "<>":
        for dtype in ["uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]:
            data = elements((40, 64), dtype)
            for compression in [None, "zlib", "lzw", "zstd", "packbits"]:
                is_predicted = compression in ("zlib", "lzw", "zstd") and not dtype.endswith("int64")
                for predictor in [False, True] if is_predicted else [False]:
                    mosaic(
                        f"tifffile-{compression}-{dtype}-{order == '<'}-{predictor}",
                        data,
                        (32, 32),
                        by_tifffile(
                            tile=(16, 32),
                            compression=compression,
                            predictor=predictor,
                            byteorder=order,
                            bigtiff=dtype.endswith("8"),
                        ),
                    )
    # Bands, and how they are stored.
    for dtype in ["uint8", "uint16", "float32"]:
        data = elements((64, 64, 3), dtype)
        for interleave in ["pixel", "band"]:
            for predictor in [1, 2]:
                planar = interleave == "band"
                mosaic_bands(
                    f"bands-{dtype}-{interleave}-{predictor}",
                    data,
                    by_gdal(**tiles, interleave=interleave, compress="lzw", predictor=predictor),
                    planar,
                )
    mosaic_bands(
        "bands-tifffile-planar",
        elements((64, 64, 3), "uint16"),
        lambda path, block: tifffile.imwrite(
            path,
            np.moveaxis(block, -1, 0),
            planarconfig="separate",
            photometric="rgb",
            tile=(32, 32),
            metadata=None,
            byteorder=">",
            compression="zlib",
            predictor=True,
        ),
        True,
    )
    # One file that its tiles do not divide, and a mosaic of which only the last ones are such.
    mosaic("alone", elements((50, 70), "uint16"), (50, 70), by_gdal(**tiles, compress="zstd"))
    mosaic("ragged", elements((90, 150), "uint16"), (64, 64), by_gdal(**tiles, compress="zstd"))
    mosaic("ragged-columns", elements((64, 90), "int32"), (64, 32), by_tifffile(tile=(16, 16)))
    for complex_type in ["complex64", "complex128"]:
        mosaic(complex_type, elements((32, 64), complex_type), (32, 32), by_tifffile(tile=(16, 16), compression="zlib"), zarrita=False)


def mosaic_bands(name, data, write, planar):
    expected = np.empty_like(data)
    for y, x, block in blocks(data, (32, 64)):
        path = ROOT / name / "b0" / f"y{y}_x{x}.tif"
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, block)
        found = read(path)
        expected[y * 32 : y * 32 + 32] = np.moveaxis(found, 0, -1) if planar else found
    assert expected.tobytes() == data.tobytes(), name
    case(
        name,
        {"chunkKeyEncoding": PLANES if planar else BANDED},
        np.moveaxis(expected, -1, 0) if planar else expected,
    )


def jpegs():
    y, x = np.mgrid[0:96, 0:128]
    waves = [np.sin(x / 17 + k) * 60 + np.cos(y / 11) * 50 + 128 for k in range(4)]
    noisy = np.stack(waves, -1) + RNG.normal(0, 9, (96, 128, 4))
    picture = np.clip(noisy, 0, 255).astype("u1")
    tiles = dict(tiled=True, blockxsize=32, blockysize=16, compress="jpeg")
    lossy = dict(lossless=False)
    # tifffile decodes by libjpeg-turbo, as imagecodecs does.
    mosaic("jpeg-gray", picture[..., 0], (48, 64), by_gdal(**tiles), **lossy)
    mosaic("jpeg-strips", picture[..., 0], (48, 64), by_gdal(compress="jpeg", blockysize=16), **lossy)
    bands = {"chunkKeyEncoding": BANDED}
    for photometric in ["rgb", "ycbcr"]:
        write = by_gdal(**tiles, photometric=photometric, interleave="pixel")
        mosaic(f"jpeg-{photometric}", picture[..., :3], (48, 64), write, bands, "b0/y{y}_x{x}.tif", **lossy)
    for tables in [0, 1]:
        write = by_gdal(**tiles, photometric="ycbcr", interleave="pixel", jpegtablesmode=tables)
        mosaic(f"jpeg-tables-{tables}", picture[..., :3], (48, 64), write, bands, "b0/y{y}_x{x}.tif", **lossy)
    planes = by_gdal(**tiles, interleave="band", photometric="minisblack")
    one("jpeg-planes", lambda path: planes(path, picture[..., :3]), 3, read)
    write = by_tifffile(tile=(16, 32), compression="jpeg", photometric="rgb")
    mosaic("jpeg-tifffile", picture[..., :3], (48, 64), write, bands, "b0/y{y}_x{x}.tif", **lossy)
    pixels = by_gdal(**tiles, interleave="pixel", photometric="minisblack")
    # GDAL reads colors as they are stored, where tifffile takes three bands for YCbCr.
    for count in [2, 3, 4]:
        one(f"jpeg-bands-{count}", lambda path: pixels(path, picture[..., :count]), 3, read_bands)
    cmyk = by_gdal(**tiles, interleave="pixel", photometric="cmyk")
    one("jpeg-cmyk", lambda path: cmyk(path, picture), 3, read)
    ycbcr = by_gdal(compress="jpeg", blockysize=16, photometric="ycbcr", interleave="pixel")
    one("jpeg-short-strip", lambda path: ycbcr(path, picture[:70, :, :3]), 3, read, python="cannot reshape")
    folder = ROOT / "jpeg-other-tables"
    folder.mkdir()
    for i, quality in enumerate([40, 90]):
        by_gdal(**tiles, jpeg_quality=quality)(folder / f"y0_x{i}.tif", picture[:48, :64, 0])
    case("jpeg-other-tables", {"chunkKeyEncoding": GRID}, refused="different tables (JPEGTables)")


def strips():
    for rows in [1, 8, 20, 40, 999]:
        for compression in [None, "zlib"]:
            mosaic(
                f"strips-{rows}-{compression}",
                elements((80, 60), "uint16"),
                (40, 60),
                by_tifffile(rowsperstrip=rows, compression=compression),
            )
    # Without compression, strips may end with a short one, and files with a short strip.
    for rows in [7, 16, 39]:
        mosaic(f"strips-short-{rows}", elements((80, 60), "int32"), (40, 60), by_tifffile(rowsperstrip=rows))
    mosaic("strips-short-file", elements((90, 60), "uint8"), (40, 60), by_tifffile())
    mosaic("strips-gdal", elements((80, 60), "float32"), (40, 60), by_gdal(blockysize=8, compress="deflate"))
    # The default of libtiff, GDAL and Pillow: a compressed strip with fewer rows at the end.
    for compression in ["deflate", "lzw", "zstd", "packbits"]:
        for predictor in [1] if compression == "packbits" else [1, 2]:
            for dtype in ["uint8", "int16"]:
                one(
                    f"strips-last-{compression}-{predictor}-{dtype}",
                    lambda path: by_gdal(compress=compression, predictor=predictor, blockysize=7)(path, elements((45, 37), dtype)),
                    2,
                    read,
                    python="cannot reshape",
                )
    planar = elements((30, 40, 3), "uint8")
    path = ROOT / "strips-planar" / "a.tif"
    path.parent.mkdir()
    tifffile.imwrite(path, np.moveaxis(planar, -1, 0), planarconfig="separate", photometric="rgb", rowsperstrip=7, metadata=None)
    case("strips-planar", file_at("a.tif", 3), read(path))


def file_at(name, rank, **options):
    """Options for one file of any name, which is linked."""
    return {"files": [{"coordinates": [0] * rank, "key": f"/{name}"}], "link": True, **options}


def one(name, write, rank, expected, options=None, **more):
    path = ROOT / name / "image.tif"
    path.parent.mkdir(parents=True)
    write(path)
    case(name, file_at("image.tif", rank, **(options or {})), expected(path), **more)


def stacks():
    data = [elements((40, 64), "uint16") for _ in range(5)]
    for name, write in {
        "stack": by_tifffile(tile=(16, 32), compression="zlib", predictor=True),
        "stack-strips": by_tifffile(rowsperstrip=10),
        "stack-gdal": by_gdal(tiled=True, blockxsize=16, blockysize=16, compress="zstd"),
    }.items():
        folder = ROOT / name
        folder.mkdir()
        for t, plane in enumerate(data):
            write(folder / f"t{t:03}_y0_x0.tif", plane)
        case(name, {"chunkKeyEncoding": STACK, "stack": True}, np.stack(data))
    # A stack of mosaics.
    folder = ROOT / "stack-mosaic"
    folder.mkdir()
    for t, plane in enumerate(data):
        for y, x, block in blocks(plane, (32, 32)):
            by_tifffile(tile=(16, 16))(folder / f"t{t:03}_y{y}_x{x}.tif", block)
    case("stack-mosaic", {"chunkKeyEncoding": STACK, "stack": True}, np.stack(data))

    planes = np.stack(data)
    pages = dict(tile=(16, 32), compression="zlib", metadata=None)
    one("pages", lambda path: tifffile.imwrite(path, planes, photometric="minisblack", **pages), 3, tifffile.imread)
    one(
        "page",
        lambda path: tifffile.imwrite(path, planes, photometric="minisblack", **pages),
        2,
        lambda path: tifffile.imread(path)[3],
        {"page": 3},
    )
    one(
        "pages-contiguous",
        lambda path: tifffile.imwrite(path, planes, photometric="minisblack", byteorder=">"),
        3,
        tifffile.imread,
    )
    one(
        "imagej",
        lambda path: tifffile.imwrite(path, planes, imagej=True, metadata={"axes": "ZYX"}),
        3,
        tifffile.imread,
    )
    for name, options in {"imagej-one-directory": dict(imagej=True), "tifffile-one-directory": dict(photometric="minisblack")}.items():
        one(
            name,
            lambda path: tifffile.imwrite(path, planes, truncate=True, rowsperstrip=15, **options),
            3,
            tifffile.imread,
        )
    hyper = elements((3, 2, 30, 40), "float32")
    one(
        "imagej-hyperstack",
        lambda path: tifffile.imwrite(path, hyper, imagej=True, metadata={"axes": "ZCYX"}),
        3,
        lambda path: tifffile.imread(path).reshape(6, 30, 40),
    )
    one(
        "ome",
        lambda path: tifffile.imwrite(path.with_suffix(".tif"), hyper, ome=True, metadata={"axes": "ZCYX"}, tile=(16, 16), compression="lzw"),
        3,
        lambda path: tifffile.imread(path).reshape(6, 30, 40),
    )
    different = lambda path: [
        tifffile.imwrite(path, elements(shape, "uint8"), append=path.exists(), metadata=None)
        for shape in [(20, 30), (16, 16)]
    ]
    one("different-pages", different, 2, lambda path: None, refused="choose a page by the option")
    one("page-of-different", different, 2, lambda path: tifffile.imread(path, key=1), {"page": 1})


def overviews():
    data = elements((300, 260), "uint16")

    def cog(path, **options):
        temporary = path.with_suffix(".plain")
        by_gdal(tiled=True, blockxsize=64, blockysize=64, nodata=7)(temporary, data)
        rasterio.shutil.copy(
            temporary, path, driver="COG", blocksize=64, overview_resampling="nearest", overview_count=2, **options
        )
        temporary.unlink()

    for level in range(3):
        for name, options in {
            "cog": dict(compress="deflate", predictor="yes"),
            "cog-bigtiff": dict(compress="zstd", bigtiff="yes"),
        }.items():
            one(
                f"{name}-{level}",
                lambda path: cog(path, **options),
                2,
                lambda path: tifffile.imread(path, series=0, level=level),
                {"overview": level},
            )
    one("cog-no-level", lambda path: cog(path), 2, lambda path: None, {"overview": 3}, refused="has no overview 3")
    pyramid = elements((4, 64, 96), "uint8")

    def sub(path, **options):
        with tifffile.TiffWriter(path, **options) as file:
            for plane in pyramid:
                file.write(plane, subifds=2, tile=(16, 32), compression="zlib", metadata=None, contiguous=False)
                for step in (2, 4):
                    file.write(plane[::step, ::step], subfiletype=1, tile=(16, 16), compression="zlib", metadata=None, contiguous=False)

    for name, options in {"sub": {}, "sub-big": dict(bigtiff=True, byteorder=">")}.items():
        for level, step in enumerate((1, 2, 4)):
            one(
                f"{name}-{level}",
                lambda path: sub(path, **options),
                3,
                lambda path: pyramid[:, ::step, ::step],
                {"overview": level},
            )

    def masked(path):
        with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True):
            with rasterio.open(path, "w", driver="GTiff", count=1, height=64, width=64, dtype="uint8", tiled=True, blockxsize=32, blockysize=32) as dataset:
                dataset.write(pyramid[:1, :, :64])
                dataset.write_mask(pyramid[0, :, :64] > 9)

    one("masked", masked, 2, lambda path: tifffile.imread(path, key=0))


def special():
    def sparse(path, fill, dtype="int16"):
        options = dict(tiled=True, blockxsize=16, blockysize=16, sparse_ok=True, compress="deflate")
        if fill is not None:
            options["nodata"] = fill
        with rasterio.open(path, "w", driver="GTiff", count=1, height=48, width=64, dtype=dtype, **options) as dataset:
            block = elements((16, 16), dtype)
            dataset.write(block, 1, window=((16, 32), (32, 48)))

    for fill, dtype in [(None, "int16"), (-9999, "int16"), (255, "uint8"), (float("nan"), "float32"), (-1e30, "float32"), (1.5, "float64")]:
        one(f"sparse-{fill}-{dtype}", lambda path: sparse(path, fill, dtype), 2, read)
    one(
        "sparse-other-fill",
        lambda path: sparse(path, -9999),
        2,
        lambda path: None,
        {"fillValue": 5},
        refused="leaves out tiles whose elements are -9999",
    )
    one("nodata-too-large", lambda path: tifffile.imwrite(path, elements((16, 16), "uint8"), extratags=[(42113, 2, 0, "-9999", True)]), 2, read)
    # A mosaic with a missing file.
    folder = ROOT / "missing"
    folder.mkdir()
    data = elements((64, 64), "int32")
    for y, x, block in blocks(data, (32, 32)):
        if (y, x) != (1, 0):
            by_gdal(tiled=True, blockxsize=16, blockysize=16, nodata=-3)(folder / f"y{y}_x{x}.tif", block)
    data[32:, :32] = -3
    case("missing", {"chunkKeyEncoding": GRID}, data)
    # Keys by default.
    for suffix in ["tif", "tiff"]:
        mosaic(f"default-{suffix}", elements((64, 64), "uint8"), (32, 64), by_gdal(), {}, f"c/{{y}}/{{x}}.{suffix}")


def refusals():
    def write(name, pattern, rank=2, options=None, **tifffile_options):
        data = tifffile_options.pop("data", elements((40, 48), "uint8"))
        one(
            name,
            lambda path: tifffile.imwrite(path, data, metadata=None, **tifffile_options),
            rank,
            lambda path: None,
            options,
            refused=pattern,
        )

    write("lzma", "compressed by LZMA", compression="lzma")
    write("jpeg2000", "compressed by JPEG 2000", compression="jpeg2000")
    write("wrong-rank", "where an array of it has the dimensions", rank=3)
    write("no-page", "has no page 1", options={"page": 1})

    def files(name, pattern, *writers, options=None):
        for x, writer in enumerate(writers):
            path = ROOT / name / f"y0_x{x}.tif"
            path.parent.mkdir(exist_ok=True)
            writer(path)
        case(name, {"chunkKeyEncoding": GRID} if options is None else options, refused=pattern)

    def plain(shape=(32, 32), dtype="uint8", **options):
        return lambda path: by_tifffile(**{"tile": (16, 16), **options})(path, elements(shape, dtype))

    files("other-type", "different data types", plain(), plain(dtype="uint16"))
    files("other-tiles", "different shapes of tiles", plain(), plain(tile=(32, 32)))
    files("other-compression", "different codecs", plain(), plain(compression="zlib"))
    files("other-order", "different codecs", plain(dtype="int16"), plain(dtype="int16", byteorder=">"))
    files("other-fill", "different fill values", plain(), plain(extratags=[(42113, 2, 0, "9", True)]))
    files("other-height", "files of one array have the same length", plain(), plain((16, 32)))
    files("not-divided", "which its tiles of 16 do not divide", plain((32, 40)), plain())
    files("longer-last", "only a shorter file can be the last", plain(), plain((32, 48)))
    files("not-a-tiff", "starts with the bytes", plain(), lambda path: path.write_bytes(b"\x89PNG\r\n\x1a\n"))
    files("nothing", "Found no file below", plain(), options={})


def bits():
    bilevel = elements((40, 45), "uint8") > 7
    for compression in [None, "lzw", "zlib", "packbits"]:
        one(f"mask-{compression}", lambda path: tifffile.imwrite(path, bilevel, metadata=None, compression=compression, rowsperstrip=20), 2, lambda path: read(path).astype("u1"))
    for count in [1, 2, 4, 7, 9, 12, 15, 17, 20, 24, 31]:
        dtype = "uint8" if count < 8 else "uint16" if count < 16 else "uint32"
        data = elements((48, 45, 3), dtype) & np.array(2**count - 1, dtype)
        for name, options in {"tiles": dict(tiled=True, blockxsize=16, blockysize=16), "strips": dict(blockysize=7)}.items():
            write = by_gdal(nbits=count, interleave="pixel", photometric="minisblack", **options)
            one(f"bits-{count}-{name}", lambda path: write(path, data), 3, read_bands)


def names():
    """Names whose numbers start at 1, count by 10 or down, or do not number a dimension."""

    def template(format):
        return {"chunkKeyEncoding": {"name": "template", "configuration": {"format": format}}}

    def named(name, format, paths, expected, **options):
        for path, data in paths.items():
            path = ROOT / name / path
            path.parent.mkdir(parents=True, exist_ok=True)
            tifffile.imwrite(path, data, metadata=None, **WRITE)
        case(name, {**template(format), **options}, expected)

    WRITE = dict(tile=(16, 16), compression="zlib", photometric="minisblack")
    data = elements((80, 96), "uint16")
    places = list(blocks(data, (32, 32)))
    schemes = {
        "from-1": ("y{0+1:02}_x{1+1}.tif", lambda y, x: f"y{y + 1:02}_x{x + 1}.tif"),
        "pixels": ("{1*32}/{0*32:03}.tif", lambda y, x: f"{x * 32}/{y * 32:03}.tif"),
        "north": ("N{0*-1+47}E{1*10+5:03}.tif", lambda y, x: f"N{47 - y}E{x * 10 + 5:03}.tif"),
    }
    for name, (format, path) in schemes.items():
        named(f"names-{name}", format, {path(y, x): block for y, x, block in places}, data)
    holed = data.copy()
    holed[32:64, 32:64] = 0
    present = {f"y{y + 1}_x{x + 1}.tif": block for y, x, block in places if (y, x) != (1, 1)}
    named("names-missing", "y{0+1}_x{1+1}.tif", present, holed)
    months = np.stack([elements((40, 64), "int16") for _ in range(12)])
    months_by_name = {f"prec_{i + 1:02}.tif": month for i, month in enumerate(months)}
    named("names-months", "prec_{0+1:02}.tif", months_by_name, months, stack=True, dimensionNames=["month", "y", "x"])
    scans = {f"scan_{i + 1}.tif": months[3 * i : 3 * i + 3] for i in range(4)}
    named("names-pages", "scan_{0+1}.tif", scans, months)
    WRITE = dict(tile=(16, 16), photometric="rgb")
    colors = elements((64, 32, 3), "uint8")
    named("names-bands", "{0*32}_{1}.tif", {"0_0.tif": colors[:32], "32_0.tif": colors[32:]}, colors)
    WRITE = dict(rowsperstrip=7, photometric="minisblack")
    named("names-strips", "row{0+1}_{1}.tif", {"row1_0.tif": data[:45], "row2_0.tif": data[45:]}, data)


for make in [mosaics, names, bits, jpegs, strips, stacks, overviews, special, refusals]:
    make()
(ROOT / "cases.json").write_text(json.dumps(CASES), "utf-8")
