"""Makes the arrays of this folder, and index.json.

    pip install zarr==3.1.6
    python tests/conformance/make_arrays.py

zarr-python writes each array with plain keys. Then this script renames the chunks, cuts them
into parts, and damages some; the keys and the cuts are computed here, and not by zarr-parts.
"""

import json
import shutil
import struct
from collections.abc import Callable, Sequence
from pathlib import Path

import google_crc32c
import numpy as np
import zarr
from zarr.codecs import BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec, ZstdCodec

HERE = Path(__file__).parent
ARRAYS = HERE / "arrays"
DOCUMENTS = {
    "concat-parts": "concat-parts storage transformer, version 0.1",
    "suffix": "suffix chunk key encoding, version 0.1",
    "chunk-key-encodings": "https://zarr-specs.readthedocs.io/en/latest/v3/chunk-key-encodings/index.html",
    "zarr-parts": "docs/specification.md: what zarr-parts does where the documents leave a choice",
}

# Sentences that the cases test.
ORDER = ("concat-parts", "On read, the transformer reads the content of each part in the specified order and concatenates them.")
PART_KEY = ("concat-parts", "The key for each part is formed by appending the `key_suffix` to the base key of the chunk.")
MAIN_PART = ("concat-parts", 'A `key_suffix` of `""` corresponds to the base key.')
SIZE = ("concat-parts", "The size of the part in bytes. This is required for all but at most one part when writing.")
LIST = ("concat-parts", "An array of part objects to concatenate, in order.")
KEY_SUFFIX = ("concat-parts", "The suffix to append to the chunk key to form the part key.")
CHECKSUM = (
    "concat-parts",
    "The `concat-parts` transformer reads `c/0/0` and `c/0/0.crc32c`, concatenates them, and passes the result to the `crc32c` codec for verification.",
)
OFFSETS = (
    "concat-parts",
    "The offsets in the `.index` file are relative to the start of the assembled shard data (i.e., `header + main_data`), so they must account for the 64-byte header padding.",
)
SUFFIX = ("suffix", "A string that will be appended to the encoded chunk key.")
OMITTED = ("suffix", "If omitted, the `default` chunk key encoding is used.")
BASE = ("suffix", 'This specifies the "base" encoding to be used *before* the suffix is appended.')
MEMBERS = ("suffix", "The configuration for this encoding is a JSON object with one required and one optional member.")
ENDS = ("suffix", "Verify that the key ends with the configured `suffix`. If not, it is an invalid key for this encoding.")
REMOVED = ("suffix", 'Remove the `suffix` from the end of the key string to get the base key (e.g., `"c/1/2"`).')
SCALAR = (
    "chunk-key-encodings",
    "Arrays may have 0 dimensions (when for example representing scalars), in which case the coordinate of a chunk is the empty tuple, and the chunk key will consist of the string ``c``.",
)
SCALAR_V2 = ("chunk-key-encodings", 'For chunk grids with 0 dimensions, the single chunk has the key ``"0"``.')
HYPHEN = ("zarr-parts", "`base-encoding` in the configuration of `suffix` is read as `base_encoding`, which is written.")
SHORT = ("zarr-parts", 'An extension without configuration may be a name: `"chunk_key_encoding": "v2"`.')
STACKED = ("zarr-parts", "Several storage transformers apply in the order of the list; the first is nearest to the array.")
SKIPPED = ("zarr-parts", "A storage transformer with `must_understand: false` that the package does not know is skipped.")
UNKNOWN = ("zarr-parts", "Any other unknown extension is an error.")
INSIDE = ("zarr-parts", "A key may not leave the array's folder, or end in `zarr.json`.")
SHARED = ("zarr-parts", "No two chunks may share a key.")
WHOLE = ("zarr-parts", "If some parts of a chunk are absent, or a part has another size, reading it is an error.")
NEVER_SHORTER = ("zarr-parts", "A shorter chunk is never returned.")

type Coordinates = tuple[int, ...]
type Keys = tuple[object, Callable[[Coordinates], str]]
"""The metadata of a chunk key encoding, and its keys."""


def default(separator: str = "/") -> Keys:
    metadata = {"name": "default", "configuration": {"separator": separator}}
    return metadata, lambda coordinates: separator.join(["c", *map(str, coordinates)])


def v2(separator: str = ".") -> Keys:
    metadata = {"name": "v2", "configuration": {"separator": separator}}
    return metadata, lambda coordinates: separator.join(map(str, coordinates)) or "0"


def suffixed(suffix: str, base: Keys | None = None, member: str = "base_encoding") -> Keys:
    metadata, encode = base or default()
    configuration = {"suffix": suffix, **({member: metadata} if base else {})}
    return {"name": "suffix", "configuration": configuration}, lambda coordinates: encode(coordinates) + suffix


type Parts = list[tuple[str, int | None]]
"""The key suffix and the size of each part."""


def transformer(parts: Parts) -> object:
    listed = [{"key_suffix": suffix} if size is None else {"key_suffix": suffix, "size": size} for suffix, size in parts]
    return {"name": "concat-parts", "configuration": {"parts": listed}}


def cut(value: bytes, parts: Parts) -> dict[str, bytes]:
    """Cut a chunk into parts, of which at most one has no size."""
    rest = len(value) - sum(size or 0 for _, size in parts)
    pieces, at = {}, 0
    for suffix, size in parts:
        length = rest if size is None else size
        pieces[suffix] = value[at : at + length]
        at += length
    assert at == len(value) and rest >= 0
    return pieces


def behind_header(shard: bytes, header: bytes, inner_chunks: int) -> bytes:
    """Put a header in front of a shard whose index, with a checksum, is at the end."""
    data, index = shard[: -16 * inner_chunks - 4], shard[-16 * inner_chunks - 4 : -4]
    numbers = struct.unpack(f"<{2 * inner_chunks}Q", index)
    moved = [n + len(header) if i % 2 == 0 and n != 2**64 - 1 else n for i, n in enumerate(numbers)]
    index = struct.pack(f"<{2 * inner_chunks}Q", *moved)
    return header + data + index + struct.pack("<I", google_crc32c.value(index))


class Numbered:
    """The options of an array of zarr-python, of 3 × 7 numbers in chunks of 3 × 4."""

    def __init__(self, shape: Coordinates = (3, 7), chunks: Coordinates = (3, 4), dtype: str = "uint16", fill_value: object = 9, **options: object):
        self.options = {"shape": shape, "chunks": chunks, "dtype": dtype, "fill_value": fill_value, "compressors": None, **options}

    def write(self, folder: Path, absent: Sequence[slice] | None) -> np.ndarray:
        array = zarr.create_array(folder, **self.options)
        count = int(np.prod(array.shape))
        elements = (np.arange(count) * 257 % 65521 + 1).astype(array.dtype.newbyteorder("<")).reshape(array.shape)
        if absent is not None:
            elements[tuple(absent)] = array.fill_value
        array[...] = elements
        return elements


PLAIN = Numbered()
SHARDED = Numbered(shape=(4, 7), chunks=(2, 2), shards=(4, 4), compressors=ZstdCodec())
RAW_SHARDS = Numbered(shape=(4, 7), chunks=(2, 2), shards=(4, 4))
FIRST_INDEX = Numbered(shape=(4, 7), chunks=(2, 2), shards={"shape": (4, 4), "index_location": "start"})
INDEX = 4 * 16 + 4
"""The size of the index of a shard with 4 inner chunks."""

cases: list[dict[str, object]] = []
folders: list[Path] = []


def make(
    name: str,
    purpose: str,
    sentence: tuple[str, str],
    *,
    array: Numbered = PLAIN,
    keys: Keys | None = None,
    parts: Parts | None = None,
    absent: Sequence[slice] | None = None,
    stored: Callable[[bytes], bytes] = lambda value: value,
    cut_again: Callable[[bytes], dict[str, bytes]] | None = None,
    change: Callable[[Path], object] = lambda folder: None,
    into: Path = ARRAYS,
    **metadata: object,
) -> dict[str, object]:
    """Make an array, and return its place and its elements.

    `stored` changes each chunk before it is cut, `cut_again` cuts it where `parts` does not say how,
    `change` changes files in the end, and `metadata` replaces members of `zarr.json`.
    """
    folder = into / name
    elements = array.write(folder, absent)
    encoding, encode = keys or default()
    document = json.loads((folder / "zarr.json").read_text())
    document["chunk_key_encoding"] = encoding
    if parts is not None:
        document["storage_transformers"] = [transformer(parts)]
    document.pop("attributes", None)
    document |= metadata
    (folder / "zarr.json").write_text(json.dumps(document) + "\n")
    chunks = {path.relative_to(folder).parts[1:]: path.read_bytes() for path in (folder / "c").rglob("*") if path.is_file()} or {
        (): (folder / "c").read_bytes()
    } if (folder / "c").exists() else {}
    shutil.rmtree(folder / "c") if (folder / "c").is_dir() else (folder / "c").unlink(missing_ok=True)
    for names, value in sorted(chunks.items()):
        key = encode(tuple(map(int, names)))
        value = stored(value)
        for suffix, piece in (cut_again(value) if cut_again else cut(value, parts or [("", None)])).items():
            path = folder / (key + suffix)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(piece)
    change(folder)
    if into == ARRAYS:
        cases.append({"name": name, "purpose": purpose, "document": sentence[0], "sentence": sentence[1]})
    return {"path": "", "shape": list(elements.shape), "data_type": str(elements.dtype), "elements": elements.tobytes().hex()}


def right(name: str, purpose: str, sentence: tuple[str, str], **options) -> None:
    array = make(name, purpose, sentence, **options)
    cases[-1]["arrays"] = [array]


def wrong(name: str, purpose: str, sentence: tuple[str, str], at: str, kind: str, **options) -> None:
    make(name, purpose, sentence, **options)
    cases[-1]["refused"] = {"at": at, "as": kind}


def make_keys() -> None:
    right("suffix", "a suffix behind keys of the default encoding, which no base encoding names", OMITTED, keys=suffixed(".tiff"))
    right("suffix_dots", "a base encoding with another separator", BASE, keys=suffixed(".bin", default(".")))
    right("suffix_v2", "v2 as the base encoding", BASE, keys=suffixed(".shard.zip", v2()))
    right("suffix_hyphen", "`base-encoding`, as the examples of the document spell it", HYPHEN, keys=suffixed(".x", v2(), "base-encoding"))
    short = ("v2", v2()[1])
    right("suffix_short", "a base encoding that is a name without a configuration", SHORT, keys=suffixed(".x", short))
    right("suffix_twice", "suffix as the base encoding of suffix", BASE, keys=suffixed(".gz", suffixed(".tar", v2())))
    right("suffix_folder", "a suffix that puts each chunk into a folder of its own", SUFFIX, keys=suffixed("/chunk.bin"))
    long = Numbered(shape=(12,), chunks=(1,), dtype="uint8")
    right("suffix_digits", "a suffix that ends like keys do, and is removed once: the key of chunk 1 is 1.1", REMOVED, keys=suffixed(".1", v2()), array=long)
    scalar = Numbered(shape=(), chunks=(), dtype="float64")
    right("suffix_scalar", "an array without dimensions", SCALAR, keys=suffixed(".bin"), array=scalar)
    right("suffix_scalar_v2", "an array without dimensions with v2 as the base encoding", SCALAR_V2, keys=suffixed(".bin", v2()), array=scalar)

    def add_files(folder: Path) -> None:
        (folder / "c/0/0").write_bytes(b"no chunk")
        (folder / "c/0/0.tif.aux.xml").write_bytes(b"<PAMDataset/>")
        (folder / "c/0/1").write_bytes(b"no chunk")

    right(
        "suffix_other_files",
        "files without the suffix are no chunks, also beside an absent chunk",
        ENDS,
        keys=suffixed(".tif"),
        absent=[slice(0, 3), slice(4, 7)],
        change=add_files,
    )


def make_parts() -> None:
    right("parts_main", "one part that is the chunk", MAIN_PART, parts=[("", None)])
    right("parts_renamed", "one part with a key suffix, without a main part", KEY_SUFFIX, parts=[(".data", None)])
    checked = Numbered(compressors=[ZstdCodec(), Crc32cCodec()])
    right("parts_checksum", "the document's example of a checksum", CHECKSUM, array=checked, parts=[("", None), (".crc32c", 4)])
    right("parts_order", "the order is that of the list, and not that of the keys", ORDER, parts=[(".b", 3), (".a", None), ("", 5)])
    right("parts_sized", "a size for each part", SIZE, parts=[("", 10), (".tail", 14)])
    right("parts_empty", "a part of no bytes, which is stored nevertheless", SIZE, parts=[("", None), (".none", 0), (".end", 4)])
    right(
        "parts_unsized",
        "two parts without a size, which can be read",
        SIZE,
        parts=[("", None), (".more", None)],
        cut_again=lambda value: {"": value[:7], ".more": value[7:]},
    )
    right(
        "parts_absent",
        "a chunk of which no part is stored has fill values",
        ORDER,
        parts=[(".head", 2), ("", None)],
        absent=[slice(0, 3), slice(4, 7)],
    )
    right("parts_suffix", "key suffixes go behind the suffix of the chunk key", PART_KEY, keys=suffixed(".raw"), parts=[("", None), (".tail", 6)])
    right("parts_v2", "parts of chunks with keys of v2", PART_KEY, keys=v2(), parts=[("h", 1), ("t", None)])
    right("parts_folder", "parts in a folder of each chunk", KEY_SUFFIX, parts=[("/data", None), ("/tail", 6)])
    right("parts_scalar", "an array without dimensions", PART_KEY, array=Numbered(shape=(), chunks=(), dtype="int32"), parts=[("", 1), (".b", 3)])
    right(
        "parts_codecs",
        "codecs of any kind come before parts: transposed numbers in big-endian order, compressed",
        ORDER,
        array=Numbered(
            dtype="float64",
            filters=TransposeCodec(order=(1, 0)),
            serializer=BytesCodec(endian="big"),
            compressors=GzipCodec(),
        ),
        keys=suffixed(".gz"),
        parts=[(".head", 10), ("", None)],
    )

    def cut_twice(value: bytes) -> dict[str, bytes]:
        outer = cut(value, [(".a", 10), (".b", None)])
        return {
            suffix + inner: piece
            for suffix, part in outer.items()
            for inner, piece in cut(part, [("", None), (".z", 4)]).items()
        }

    stacked = [transformer([(".a", 10), (".b", None)]), transformer([("", None), (".z", 4)])]
    right("parts_stacked", "two storage transformers: each part of the first is cut by the second", STACKED, cut_again=cut_twice, storage_transformers=stacked)
    right("parts_none", "no storage transformers", LIST, storage_transformers=[])
    skipped = {"name": "https://example.com/unknown", "must_understand": False}
    right("parts_skipped", "an unknown storage transformer that need not be understood", SKIPPED, storage_transformers=[skipped])


def make_shards() -> None:
    index_last: Parts = [("", None), (".index", INDEX)]
    right("shards_index", "the index of each shard in a part of its own", ORDER, array=SHARDED, keys=suffixed(".shard"), parts=index_last)
    right(
        "shards_header",
        "the document's example of a header, with offsets that count from its start",
        OFFSETS,
        array=SHARDED,
        parts=[(".header", 64), *index_last],
        stored=lambda shard: behind_header(shard, bytes(range(64)), 4),
    )
    right("shards_index_first", "an index at the start, in a part of its own", ORDER, array=FIRST_INDEX, parts=[(".index", INDEX), ("", None)])
    right(
        "shards_cut",
        "inner chunks and the index lie across several parts",
        ORDER,
        array=RAW_SHARDS,
        keys=suffixed(".s", v2()),
        parts=[(".a", 5), (".b", 0), ("", None), (".c", 70), (".d", 11)],
    )
    right(
        "shards_absent",
        "a shard that is absent, and inner chunks that are absent from others",
        ORDER,
        array=SHARDED,
        keys=suffixed(".shard"),
        parts=index_last,
        absent=[slice(0, 4), slice(2, 7)],
    )
    inner = ShardingCodec(chunk_shape=(2, 2), codecs=[BytesCodec()], index_location="start")
    nested = Numbered(shape=(8, 4), chunks=(8, 4), serializer=ShardingCodec(chunk_shape=(4, 4), codecs=[inner]))
    right("shards_nested", "shards in shards", ORDER, array=nested, keys=suffixed(".s"), parts=[("", None), (".index", 2 * 16 + 4)])


def make_group(name: str, purpose: str, sentence: tuple[str, str], members: dict[str, dict], *, consolidated: bool = False) -> list[dict]:
    folder = ARRAYS / name
    zarr.create_group(folder)
    (folder / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group", "attributes": {}}\n')
    arrays = [{**make(path, "", sentence, into=folder, **options), "path": path} for path, options in members.items()]
    if consolidated:
        documents = {path: json.loads((folder / path / "zarr.json").read_text()) for path in members}
        document = json.loads((folder / "zarr.json").read_text())
        document["consolidated_metadata"] = {"kind": "inline", "must_understand": False, "metadata": documents}
        (folder / "zarr.json").write_text(json.dumps(document) + "\n")
    cases.append({"name": name, "purpose": purpose, "document": sentence[0], "sentence": sentence[1]})
    return arrays


def make_groups() -> None:
    mixed = {
        "plain": {},
        "suffixed": {"keys": suffixed(".bin")},
        "in_parts": {"array": SHARDED, "keys": suffixed(".shard"), "parts": [("", None), (".index", INDEX)]},
    }
    cases_of = make_group("group", "arrays that are opened through their group", PART_KEY, mixed)
    cases[-1]["arrays"] = cases_of
    consolidated = make_group("group_consolidated", "a group with consolidated metadata", PART_KEY, mixed, consolidated=True)
    cases[-1]["arrays"] = consolidated
    unknown = {"storage_transformers": [{"name": "https://example.com/unknown"}]}
    make_group("wrong_member", "a member of a group with an unknown storage transformer, opened through the group", UNKNOWN, {"x": unknown})
    cases[-1]["refused"] = {"at": "open", "as": "metadata", "path": "x"}


def make_wrong_metadata() -> None:
    def keys(**configuration: object) -> Keys:
        return {"name": "suffix", "configuration": configuration}, default()[1]

    def listed(*parts: object) -> dict[str, object]:
        return {"storage_transformers": [{"name": "concat-parts", "configuration": {"parts": list(parts)}}]}

    for name, purpose, sentence, options in [
        ("suffix_missing", "no suffix", MEMBERS, {"keys": keys()}),
        ("suffix_member", "an unknown member", MEMBERS, {"keys": keys(suffix=".x", prefix="y")}),
        ("suffix_bases", "both spellings of the base encoding", MEMBERS, {"keys": keys(suffix=".x", base_encoding="v2", **{"base-encoding": "default"})}),
        ("suffix_base", "an unknown base encoding", UNKNOWN, {"keys": keys(suffix=".x", base_encoding={"name": "https://example.com/unknown"})}),
        ("suffix_outside", "a suffix that leaves the folder of the array", INSIDE, {"keys": keys(suffix="/../../../x")}),
        ("parts_no_list", "no parts", LIST, listed()),
        ("parts_no_key_suffix", "a part without a key suffix", KEY_SUFFIX, listed({"key_suffix": ""}, {"size": 1})),
        ("parts_twice", "two parts with one key suffix", SHARED, listed({"key_suffix": ""}, {"key_suffix": "", "size": 1})),
        ("parts_negative", "a negative size", SIZE, listed({"key_suffix": ""}, {"key_suffix": ".x", "size": -1})),
        ("parts_document", "a part with the key of a metadata document", INSIDE, listed({"key_suffix": "/zarr.json"})),
        ("parts_shared", "a part of chunk 1 with the key of chunk 10", SHARED, listed({"key_suffix": ""}, {"key_suffix": "0", "size": 1})),
        ("parts_unknown", "an unknown storage transformer", UNKNOWN, {"storage_transformers": [{"name": "https://example.com/unknown"}]}),
    ]:
        # Without chunks: nothing may be read.
        remove = {"change": lambda folder: shutil.rmtree(folder / "c")}
        wrong(f"wrong_{name}", purpose, sentence, "open", "metadata", **options, **remove)


def make_damaged() -> None:
    sized: Parts = [(".head", 4), ("", None), (".tail", 6)]
    index_last: Parts = [("", None), (".index", INDEX)]

    def edit(key: str, change: Callable[[bytes], bytes]) -> dict[str, object]:
        def apply(folder: Path) -> None:
            (folder / key).write_bytes(change((folder / key).read_bytes()))

        return {"change": apply}

    def remove(*keys: str) -> dict[str, object]:
        return {"change": lambda folder: [(folder / key).unlink() for key in keys]}

    def flip(value: bytes) -> bytes:
        return value[:5] + bytes([value[5] ^ 1]) + value[6:]

    def point_behind(index: bytes) -> bytes:
        moved = struct.pack("<Q", 10_000) + index[8:-4]
        return moved + struct.pack("<I", google_crc32c.value(moved))

    for name, purpose, sentence, kind, options in [
        ("tail_missing", "the last part is missing", WHOLE, "missing part", {"parts": sized, **remove("c/0/1.tail")}),
        ("main_missing", "the part without a size is missing", WHOLE, "missing part", {"parts": sized, **remove("c/0/1")}),
        ("index_missing", "the index is missing, though the inner chunks are there", WHOLE, "missing part", {"array": SHARDED, "parts": index_last, **remove("c/0/0.index")}),
        ("data_missing", "the inner chunks are missing, though the index is there", WHOLE, "missing part", {"array": SHARDED, "parts": index_last, **remove("c/0/0")}),
        ("part_short", "a part with a size is shorter", WHOLE, "part size", {"parts": sized, **edit("c/0/0.head", lambda value: value[:-1])}),
        ("part_long", "a part with a size is longer", WHOLE, "part size", {"parts": sized, **edit("c/0/0.tail", lambda value: value + b"\0")}),
        ("chunk_short", "the part without a size is shorter, so that the chunk is", NEVER_SHORTER, "damage", {"parts": sized, **edit("c/0/0", lambda value: value[:-2])}),
        ("chunk_long", "the part without a size is longer, so that the chunk is", NEVER_SHORTER, "damage", {"parts": sized, **edit("c/0/0", lambda value: value + b"\0\0")}),
        ("shard_short", "the inner chunks end before the index says", NEVER_SHORTER, "damage", {"array": RAW_SHARDS, "parts": index_last, **edit("c/0/0", lambda value: value[:-3])}),
        ("shard_emptied", "no bytes of the inner chunks are left", NEVER_SHORTER, "damage", {"array": SHARDED, "parts": index_last, **edit("c/0/1", lambda value: b"")}),
        ("index_damaged", "one bit of an index has changed", CHECKSUM, "damage", {"array": SHARDED, "parts": index_last, **edit("c/0/1.index", flip)}),
        ("index_behind", "the index names bytes behind the end of the shard", OFFSETS, "damage", {"array": SHARDED, "parts": index_last, **edit("c/0/1.index", point_behind)}),
        (
            "checksum_damaged",
            "one bit of the compressed bytes has changed, which the checksum in the other part shows",
            CHECKSUM,
            "damage",
            {"array": Numbered(compressors=[Crc32cCodec()]), "parts": [("", None), (".crc32c", 4)], **edit("c/0/0", flip)},
        ),
    ]:
        wrong(f"damaged_{name}", purpose, sentence, "read", kind, **options)


if __name__ == "__main__":
    shutil.rmtree(ARRAYS, ignore_errors=True)
    make_keys()
    make_parts()
    make_shards()
    make_groups()
    make_wrong_metadata()
    make_damaged()
    (HERE / "index.json").write_text(json.dumps({"documents": DOCUMENTS, "cases": cases}, indent=1, ensure_ascii=False) + "\n")
