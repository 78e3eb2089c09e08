/** Shards that are files of other formats, too, which no write destroys. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import * as zarr from "zarrita";
import {
  type ArrayChunks,
  createArrayChunks,
  FileSystemStore,
  MemoryStore,
  OtherBytesError,
  type ShardContainer,
  type Store,
} from "../../mod.ts";
import { registerCodecs, setSharded } from "../../zarrita.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { contentsOf } from "../support/bytes.ts";
import { withoutVersions } from "../support/without_versions.ts";
import {
  chunkAt,
  metadataOf,
  type Pieces,
  shardOf,
  storeShard,
} from "./other_bytes.ts";
import { openIn, readAnew, type Writable } from "./sharded_array.ts";

registerCodecs(zarr.registry);

const INDEX = { key_suffix: ".index", size: 36 };
const HEAD = { key_suffix: ".header", size: 3 };
const BODY = { key_suffix: "" };

/** How an array is stored, and the number of bytes before the pieces of a shard. */
const LAYOUTS = {
  "in one object": [{}, 0],
  "with an index in a part": [{ parts: [BODY, INDEX] }, 0],
  "with a head part": [{ parts: [HEAD, BODY, INDEX] }, 3],
  "with the index at the start": [{ location: "start" }, 36],
  "with the index in a part at the start": [
    { location: "start", parts: [INDEX, BODY] },
    36,
  ],
} as const;

/** The first of the bytes that a refusal names, as offset and length among the pieces. */
type Named = readonly [offset: number, length: number];

/** A shard, and the bytes that refusals of writes name; `undefined` for writes that are not refused. */
interface Expected {
  /** Pieces of a shard after its head parts, or after an index at its start. */
  readonly pieces: Pieces;
  /** A change of inner chunks. */
  readonly change?: Named;
  /** A change of inner chunks of the same lengths; `change` if nothing else is said. */
  readonly sameLength?: Named | null;
  /** A change of inner chunks with a prefix. */
  readonly withPrefix?: Named;
  /** A replacement of the whole shard. */
  readonly whole?: Named;
}

/** Header, local header and so on; 0 as the last byte shows that it counts. */
const H = [91, 92, 0];
const T = [93, 94];

const SHARDS: Record<string, Expected> = {
  "inner chunks alone": { pieces: [0, 1] },
  "one inner chunk": { pieces: [1] },
  "inner chunks in another order": { pieces: [1, 0] },
  "aligned inner chunks": { pieces: [[0, 0], 0, [0], 1, [0, 0]] },
  "a header": {
    pieces: [H, 0, 1],
    change: [0, 3],
    sameLength: null,
    whole: [0, 3],
  },
  "a header that ends with zeros": {
    pieces: [[0, 7, 0], 0, 1],
    change: [0, 3],
    sameLength: null,
    whole: [0, 3],
  },
  "a header of zeros": { pieces: [[0, 0, 0], 0, 1] },
  "a header before inner chunks in another order": {
    pieces: [H, 1, 0],
    change: [0, 3],
    whole: [0, 3],
  },
  "a header before unused bytes": {
    pieces: [H, 0, [0], 1],
    change: [0, 3],
    whole: [0, 3],
  },
  "a TIFF with its directory at the end": {
    pieces: [H, 0, 1, T],
    change: [0, 3],
    withPrefix: [7, 2],
    whole: [0, 3],
  },
  "a zip file": {
    pieces: [H, 0, H, 1, T],
    change: [0, 3],
    withPrefix: [5, 3],
    whole: [0, 3],
  },
  "a file without inner chunks": {
    pieces: [H],
    change: [0, 3],
    whole: [0, 3],
  },
  "bytes behind the inner chunks": {
    pieces: [0, 1, T],
    change: [4, 2],
    withPrefix: [4, 2],
  },
  "one byte behind the inner chunks": {
    pieces: [0, 1, [0, 0, 5]],
    change: [4, 3],
    withPrefix: [4, 3],
  },
  "unused bytes between the inner chunks": {
    pieces: [0, T, 1],
    change: [2, 2],
    withPrefix: [2, 2],
  },
  "an old inner chunk in front": {
    pieces: [T, 1, 0],
    change: [0, 2],
    whole: [0, 2],
  },
};

/** A container of as many bytes at the start as the head parts have. */
const containerOf = (headSize: number): ShardContainer => ({
  head: () => new Uint8Array(headSize).fill(71),
  before: () => Uint8Array.of(72),
  tail: () => Uint8Array.of(73, 74),
});

/** Removes the second inner chunk. */
async function remove({ store }: Opened): Promise<void> {
  await (store as Store).delete!("/c/1");
}

function streamOf(bytes: Uint8Array): ReadableStream<Uint8Array> {
  return ReadableStream.from([bytes.slice()]);
}

type Opened = Awaited<ReturnType<typeof openIn>>;

interface Target {
  array: Opened;
  chunks: ArrayChunks;
  /** A shard of two inner chunks and nothing else. */
  raw: Uint8Array;
  headSize: number;
  isAtStart: boolean;
}

interface Way {
  readonly write: (target: Target) => Promise<unknown>;
  /** The elements after the write, from those before. */
  readonly elements: (before: number[]) => number[];
  /** What `Expected` says about the way; `undefined` for a way that nothing stops. */
  readonly kind?: "change" | "sameLength" | "withPrefix" | "whole";
  /** Whether the way needs the index at the end. */
  readonly needsEnd?: boolean;
}

const first = (before: number[]) => [5, ...before.slice(1)];
const all = () => [5, 5, 5, 5];
const raw = () => [...chunkAt(0), ...chunkAt(1)];
const whole = new Uint8Array(4).fill(5);

const WAYS: Record<string, Way> = {
  "zarr.set of an element": {
    write: ({ array }) => zarr.set(array, [0], 5),
    elements: first,
    kind: "sameLength",
  },
  "zarr.set of all elements": {
    write: ({ array }) => zarr.set(array, null, 5),
    elements: all,
    kind: "sameLength",
  },
  "set of the store": {
    write: ({ array }) => array.store.set("/c/0", Uint8Array.of(5, 5)),
    elements: ([, , ...rest]) => [5, 5, ...rest],
    kind: "sameLength",
  },
  "setSharded of an element": {
    write: ({ array }) => setSharded(zarr, array, [0], 5),
    elements: first,
    kind: "sameLength",
  },
  "setSharded of all but an element": {
    write: ({ array }) => setSharded(zarr, array, [zarr.slice(3)], 5),
    elements: (before) => [5, 5, 5, before[3]!],
    kind: "sameLength",
  },
  "setSharded of an element, with an alignment": {
    write: ({ array }) => setSharded(zarr, array, [0], 5, { alignment: 64 }),
    elements: first,
    kind: "change",
  },
  "delete of the store": {
    write: ({ array }) => remove(array),
    elements: (before) => [...before.slice(0, 2), 0, 0],
    kind: "change",
  },
  "setSharded of an element, with a prefix": {
    write: ({ array }) =>
      setSharded(zarr, array, [0], 5, { prefix: Uint8Array.of(61, 62, 63) }),
    elements: first,
    kind: "withPrefix",
    needsEnd: true,
  },
  "setSharded of all elements": {
    write: ({ array }) => setSharded(zarr, array, null, whole),
    elements: all,
    kind: "whole",
  },
  'setSharded of all elements, with otherBytes: "refuse"': {
    write: ({ array }) =>
      setSharded(zarr, array, null, 5, { otherBytes: "refuse" }),
    elements: all,
    kind: "whole",
  },
  "ArrayChunks.set": {
    write: ({ chunks, raw }) => chunks.set([0], raw),
    elements: raw,
    kind: "whole",
  },
  "ArrayChunks.set of a stream": {
    write: ({ chunks, raw }) => chunks.set([0], streamOf(raw)),
    elements: raw,
    kind: "whole",
  },
  "setSharded of an element, with a container": {
    write: ({ array, headSize }) =>
      setSharded(zarr, array, [0], 5, { container: containerOf(headSize) }),
    elements: first,
    needsEnd: true,
  },
  "setSharded of all elements, with a container": {
    write: ({ array, headSize }) =>
      setSharded(zarr, array, null, 5, { container: containerOf(headSize) }),
    elements: all,
    needsEnd: true,
  },
  'setSharded of an element, with otherBytes: "replace"': {
    write: ({ array }) =>
      setSharded(zarr, array, [0], 5, { otherBytes: "replace" }),
    elements: first,
  },
  'setSharded of all elements, with otherBytes: "replace"': {
    write: ({ array }) =>
      setSharded(zarr, array, null, 5, { otherBytes: "replace" }),
    elements: all,
  },
  'ArrayChunks.set, with otherBytes: "replace"': {
    write: ({ chunks, raw }) => chunks.set([0], raw, { otherBytes: "replace" }),
    elements: raw,
  },
  'ArrayChunks.set of a stream, with otherBytes: "replace"': {
    write: ({ chunks, raw }) =>
      chunks.set([0], streamOf(raw), { otherBytes: "replace" }),
    elements: raw,
  },
  "ArrayChunks.delete": {
    write: ({ chunks }) => chunks.delete([0]),
    elements: () => [0, 0, 0, 0],
  },
};

async function inStores(
  act: (store: Writable & Required<Pick<Store, "list">>) => Promise<void>,
  isInMemory = false,
): Promise<void> {
  await act(new MemoryStore());
  if (isInMemory) return;
  await act(withoutVersions(new MemoryStore()));
  await inTempDir((folder) => act(new FileSystemStore(folder)));
}

function messageOf(offset: number, length: number): string {
  return `Shard "/c/0" has ${length} ${
    length === 1 ? "byte" : "bytes"
  } at offset ${offset} besides its inner chunks, as a file of another format has, and this write would lose them or make them wrong: write it by setSharded with the container or the prefix of that format, or lose them by otherBytes: "replace", an option of setSharded and ArrayChunks.set`;
}

/** The bytes that a write must not lose, by what `Expected` says. */
function refusalOf(
  { kind }: Way,
  { change, withPrefix, whole, ...expected }: Expected,
  { start, headSize, isAtStart }: {
    start: number;
    headSize: number;
    isAtStart: boolean;
  },
): Named | undefined {
  const named = {
    change,
    whole,
    // Only bytes before an index at the end stay where they are.
    sameLength: isAtStart || expected.sameLength === undefined
      ? change
      : expected.sameLength,
    // A prefix for head parts is not one for the bytes behind them.
    withPrefix: headSize > 0 ? change : withPrefix,
  };
  const found = kind && named[kind];
  return found ? [start + found[0], found[1]] : undefined;
}

for (const [layout, [storage, start]] of Object.entries(LAYOUTS)) {
  const metadata = metadataOf(storage);
  const isAtStart = "location" in storage;
  const headSize = isAtStart ? 0 : start;
  for (const [name, expected] of Object.entries(SHARDS)) {
    Deno.test(`no write destroys a shard ${layout} of ${name}`, async (t) => {
      const head = headSize > 0 ? [[81, 82, 83]] : [];
      const shard = shardOf(metadata, [...head, ...expected.pieces]);
      for (const [way, each] of Object.entries(WAYS)) {
        if (each.needsEnd && isAtStart) continue;
        await t.step(way, () =>
          inStores(async (store) => {
            const chunks = await createArrayChunks(store, "", metadata);
            await storeShard(store, metadata, shard);
            const before = await contentsOf(store);
            const elements = await readAnew(store);
            const target = {
              array: await openIn(store),
              chunks,
              raw: shardOf(metadata, [...head, 0, 1]),
              headSize,
              isAtStart,
            };
            const named = refusalOf(each, expected, {
              start,
              headSize,
              isAtStart,
            });
            if (named !== undefined) {
              const error = await assertRejects(
                () => each.write(target),
                OtherBytesError,
              );
              assertEquals(error.message, messageOf(...named));
              assertEquals([error.offset, error.length], [...named]);
              assertEquals(error.key, "/c/0");
              assertEquals(await contentsOf(store), before);
              return;
            }
            await each.write(target);
            assertEquals(await readAnew(store), each.elements(elements));
            const isKept = each.kind === "change" || each.kind === "sameLength";
            if (!isKept) return;
            const after = (await chunks.get([0])) ?? new Uint8Array();
            for (const [offset, byte] of otherBytes(start, expected.pieces)) {
              assertEquals(after[offset], byte, `byte ${offset}`);
            }
          }, layout !== "with an index in a part"));
      }
    });
  }
}

/** The other bytes of a shard that are not zero, with their offsets. */
function otherBytes(start: number, pieces: Pieces): [number, number][] {
  let offset = start;
  return pieces.flatMap((piece) => {
    const at = offset;
    offset += typeof piece === "number" ? 2 : piece.length;
    return typeof piece === "number"
      ? []
      : piece.map((byte, i): [number, number] => [at + i, byte])
        .filter(([, byte]) => byte !== 0);
  });
}

Deno.test("setSharded replaces a damaged shard of other bytes as a whole, and does not change it in part", async () => {
  const metadata = metadataOf({ parts: [BODY, INDEX] });
  const file = shardOf(metadata, [H, 0, 1, T]).slice(0, -36);
  const damages: Record<string, Uint8Array | undefined> = {
    "no index": undefined,
    "a short index": new Uint8Array(35),
    "an index of zeros": new Uint8Array(36),
    "the index of a longer file": shardOf(metadata, [H, 0, [1, 2, 3], 1])
      .slice(-36),
  };
  for (const [what, index] of Object.entries(damages)) {
    await inStores(async (store) => {
      await createArrayChunks(store, "", metadata);
      await store.set("/c/0", file);
      if (index) await store.set("/c/0.index", index);
      const array = await openIn(store);
      await assertRejects(() => zarr.set(array, [0], 5), Error, "", what);
      await assertRejects(() => setSharded(zarr, array, [0], 5), Error);
      assertEquals(await store.get("/c/0"), file);
      await setSharded(zarr, array, null, 5);
      assertEquals(await readAnew(store), [5, 5, 5, 5]);
    });
  }
});

Deno.test("ArrayChunks.set replaces a file by a file, and by nothing else", async () => {
  for (const [storage, start] of Object.values(LAYOUTS)) {
    const metadata = metadataOf(storage);
    const head = "location" in storage || start === 0 ? [] : [[81, 82, 83]];
    const file = (...pieces: Pieces) => shardOf(metadata, [...head, ...pieces]);
    const at = "location" in storage ? 0 : -9;
    const cases: [string, Uint8Array, boolean][] = [
      ["the same file", file(H, 0, 1, T), true],
      ["another file", file([7], 1, 0, [8, 9]), true],
      ["a file with its magic number behind zeros", file([0, 0, 1], 0), true],
      ["a file without inner chunks", file([7]), true],
      ["a shard", file(0, 1), false],
      ["a shard with bytes behind", file(0, 1, T), false],
      ["a shard behind zeros", file([0, 0, 0], 0, 1), false],
      ["no shard", new Uint8Array(80).fill(9), false],
      [
        "a file with half an index",
        file(H, 0, 1).fill(0, at, 9 + at || undefined),
        false,
      ],
      ["a file of no inner chunks and zeros", file([0]), false],
    ];
    for (const [what, value, isWritten] of cases) {
      await inStores(async (store) => {
        const chunks = await createArrayChunks(store, "", metadata);
        await storeShard(store, metadata, file(H, 0, 1, T));
        const before = await contentsOf(store);
        const ways = {
          bytes: () => chunks.set([0], value),
          stream: () => chunks.set([0], streamOf(value)),
          "stream of single bytes": () =>
            chunks.set([0], ReadableStream.from(bytewise(value))),
        };
        for (const [way, write] of Object.entries(ways)) {
          if (isWritten) {
            await write();
            assertEquals(await chunks.get([0]), value, `${what} ${way}`);
            await storeShard(store, metadata, file(H, 0, 1, T));
          } else {
            const error = await assertRejects(
              write,
              OtherBytesError,
              messageOf(start, 3),
              `${what} ${way}`,
            );
            assertEquals([error.offset, error.length], [start, 3]);
            assertEquals(await contentsOf(store), before);
          }
        }
      });
    }
  }
});

function* bytewise(bytes: Uint8Array): Generator<Uint8Array<ArrayBuffer>> {
  for (const byte of bytes) yield Uint8Array.of(byte);
}

Deno.test("a refused stream is cancelled, or has ended", async () => {
  const metadata = metadataOf({ parts: [BODY, INDEX] });
  const store = new MemoryStore();
  const chunks = await createArrayChunks(store, "", metadata);
  await storeShard(store, metadata, shardOf(metadata, [H, 0, 1]));
  let isOver = false;
  const raw = shardOf(metadata, [0, 1]);
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.enqueue(raw);
      controller.close();
      isOver = true;
    },
    cancel() {
      isOver = true;
    },
  });
  await assertRejects(() => chunks.set([0], stream), OtherBytesError);
  assert(isOver);
});

Deno.test("setSharded and ArrayChunks.set refuse an unknown value of otherBytes, and write nothing", async () => {
  const metadata = metadataOf({});
  const store = new MemoryStore();
  const chunks = await createArrayChunks(store, "", metadata);
  const array = await openIn(store);
  const otherBytes = "keep" as "refuse";
  const message =
    'Expected otherBytes to be "refuse" or "replace", found "keep"';
  const raw = shardOf(metadata, [0, 1]);
  const ways = [
    () => setSharded(zarr, array, null, 5, { otherBytes }),
    () => chunks.set([0], raw, { otherBytes }),
    () => chunks.set([0], streamOf(raw), { otherBytes }),
  ];
  for (const way of ways) {
    const error = await assertRejects(way, TypeError);
    assertEquals(error.message, message);
  }
  assertEquals(await store.get("/c/0"), undefined);
});
