/** Inner chunks that are read beside changes, and the requests that this takes. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import {
  type Backend,
  DamageError,
  encodeShard,
  encodeShardIndex,
  MemoryStore,
  type ShardLayout,
  type Snapshot,
  type StoreKey,
} from "../../mod.ts";
import { partsBackend } from "../../src/concat_parts/mod.ts";
import { encodeFileRecord, ShardReader } from "../../src/shards/mod.ts";
import { backendOf } from "../../src/stores/mod.ts";
import { countingBytes } from "../support/bytes.ts";
import { withoutVersions } from "../support/without_versions.ts";
import { shardInputs } from "./arbitraries.ts";

const KEY: StoreKey = "/c/0";
const LAYOUT: ShardLayout = {
  chunksPerShard: [4],
  indexLocation: "end",
  indexEndian: "little",
  indexHasChecksum: true,
};
const FORM = { layouts: [LAYOUT] };
const INDEX_SIZE = 68;

/** A backend that notes its requests, and waits for `gate` before each. */
function logged(backend: Required<Omit<Backend, "list" | "remove">>): {
  backend: Backend;
  log: string[];
  gate: { open: Promise<void> };
} {
  const log: string[] = [];
  const gate = { open: Promise.resolve() };
  const note = async (text: string, range: unknown) => {
    log.push(`${text} ${range ? Object.values(range).join("+") : "all"}`);
    await gate.open;
  };
  const observed: Backend = {
    ...backend,
    read: (keys, task, options) =>
      backend.read(keys, (values) => {
        const noted: Snapshot = {
          size: (key) => values.size(key),
          async read(key, range, options) {
            await note("read", range);
            return await values.read(key, range, options);
          },
          stream: (key, range) => values.stream(key, range),
          version: (key) => values.version(key),
        };
        return task(noted);
      }, options),
    async readOf(version, key, range, options) {
      await note("readOf", range);
      return await backend.readOf(version, key, range, options);
    },
  };
  return { backend: observed, log, gate };
}

function bound(store: MemoryStore) {
  return {
    read: store.read.bind(store),
    readOf: store.readOf.bind(store),
    prepare: store.prepare.bind(store),
    update: store.update.bind(store),
  };
}

const CHUNKS = [
  countingBytes(5),
  undefined,
  countingBytes(10_000, 5),
  countingBytes(6, 50),
];

function openLogged(chunks: readonly (Uint8Array | undefined)[] = CHUNKS) {
  const store = new MemoryStore([[KEY, encodeShard(chunks, LAYOUT)]]);
  const opened = logged(bound(store));
  const reader = new ShardReader(opened.backend, FORM);
  const read = (place: number, options = {}) =>
    reader.read(KEY, [[place]], options);
  return { store, reader, read, ...opened };
}

Deno.test("ShardReader reads any inner chunk of any shard, in parts and without, cold and warm", async () => {
  await fc.assert(
    fc.asyncProperty(
      shardInputs,
      fc.boolean(),
      async ({ layout, chunks, options }, isForeign) => {
        const shard = encodeShard(chunks, layout, options);
        const store = new MemoryStore();
        const below = backendOf(isForeign ? withoutVersions(store) : store);
        const head = Math.min(3, shard.length);
        const parts = [{ keySuffix: ".h", size: head }, { keySuffix: "" }];
        for (const backend of [below, partsBackend(below, parts, () => true)]) {
          await backend.update!([KEY], () => Promise.resolve([shard]));
          const reader = new ShardReader(backend, { layouts: [layout] });
          for (let round = 0; round < 2; round++) {
            await Promise.all(chunks.map(async (chunk, place) => {
              let rest = place;
              const path = layout.chunksPerShard.toReversed().map((count) => {
                const coordinate = rest % count;
                rest = (rest - coordinate) / count;
                return coordinate;
              }).reverse();
              const read = await reader.read(KEY, [path], {});
              assertEquals(read, chunk);
              // zarrita changes all of the memory in which the bytes lie.
              if (read) assertEquals(read.length, read.buffer.byteLength);
              assertEquals(await reader.size(KEY, [path], {}), chunk?.length);
            }));
          }
          const listed = await Array.fromAsync(reader.list(KEY));
          assertEquals(
            listed.length,
            chunks.filter((chunk) => chunk !== undefined).length,
          );
        }
      },
    ),
    { numRuns: 60 },
  );
});

Deno.test("ShardReader reads the index once, and then each inner chunk by its version", async () => {
  const { read, log } = openLogged();
  assertEquals(await read(0), CHUNKS[0]);
  assertEquals(await read(3), CHUNKS[3]);
  assertEquals(await read(1), undefined);
  assertEquals(log, [
    `read ${INDEX_SIZE}`,
    "read 0+5",
    "readOf 10005+6",
    "readOf 0+0", // The inner chunk may have been stored meanwhile.
  ]);
});

Deno.test("ShardReader joins reads of one turn whose gaps are short, and no others", async () => {
  const { read, log } = openLogged();
  const all = await Promise.all([3, 0, 1, 0].map((place) => read(place)));
  assertEquals(all, [CHUNKS[3], CHUNKS[0], undefined, CHUNKS[0]]);
  // 10,000 bytes lie between the first inner chunk and the last.
  const far = [`read ${INDEX_SIZE}`, "read 0+5", "read 10005+6"];
  assertEquals(log.splice(0), far);
  await Promise.all([0, 2, 3].map((place) => read(place)));
  assertEquals(log, ["readOf 0+10011"]);
  const [first, again] = await Promise.all([read(0), read(0)]);
  first!.fill(0);
  assertEquals(again, CHUNKS[0]); // Each has its own memory.
});

Deno.test("ShardReader joins no more than 2 MiB, and gaps of at most 4 KiB", async () => {
  for (
    const [lengths, requests] of [
      [[1, 4096, 1], 1],
      [[1, 4097, 1], 2],
      [[2 ** 20, 10, 2 ** 20 - 10], 1],
      [[2 ** 20, 10, 2 ** 20 - 9], 2],
    ] as const
  ) {
    const chunks = [...lengths.map((n) => new Uint8Array(n)), undefined];
    const { reader, log } = openLogged(chunks);
    await reader.readTogether(KEY, [[[0]], [[2]]]);
    assertEquals(log.length - 1, requests, `${lengths}`);
  }
});

Deno.test("ShardReader reads a shard anew that was replaced or deleted, and never mixes two shards", async () => {
  const { store, read } = openLogged();
  await read(0);
  const other = [countingBytes(7, 90), countingBytes(3), undefined, undefined];
  await store.set(KEY, encodeShard(other, LAYOUT));
  assertEquals(
    await Promise.all([0, 1, 2].map((i) => read(i))),
    other.slice(0, 3),
  );
  await store.delete(KEY);
  assertEquals(await read(0), undefined);
  await store.set(KEY, encodeShard(CHUNKS, LAYOUT));
  assertEquals(await read(3), CHUNKS[3]);
  // Absence is not kept either.
  assertEquals(await read(1), undefined);
  await store.set(KEY, encodeShard(other, LAYOUT));
  assertEquals(await read(1), other[1]);
});

Deno.test("ShardReader reads what the same store object has written, in a store without versions", async () => {
  const stored = new MemoryStore([[KEY, encodeShard(CHUNKS, LAYOUT)]]);
  const backend = backendOf(withoutVersions(stored));
  const reader = new ShardReader(backend, FORM);
  assertEquals(await reader.read(KEY, [[0]], {}), CHUNKS[0]);
  const other = encodeShard([undefined, ...CHUNKS.slice(2), CHUNKS[0]], LAYOUT);
  await backend.update!([KEY], () => Promise.resolve([other]));
  assertEquals(await reader.read(KEY, [[0]], {}), undefined);
  assertEquals(await reader.read(KEY, [[3]], {}), CHUNKS[0]);
});

Deno.test("ShardReader shares one loading of the index among readers, and goes on if the first is aborted", async () => {
  for (const isAborted of [false, true]) {
    const { read, log, gate } = openLogged();
    let open!: () => void;
    gate.open = new Promise((resolve) => open = resolve);
    const controller = new AbortController();
    const first = read(0, { signal: controller.signal });
    await new Promise((resolve) => setTimeout(resolve));
    const others = [2, 3].map((place) => read(place));
    await new Promise((resolve) => setTimeout(resolve));
    assertEquals(log, [`read ${INDEX_SIZE}`]);
    if (isAborted) {
      controller.abort(new Error("Left"));
      await assertRejects(() => first, Error, "Left");
    }
    open();
    assertEquals(await Promise.all(others), CHUNKS.slice(2));
    if (!isAborted) assertEquals(await first, CHUNKS[0]);
    const indexes = log.filter((it) => it === `read ${INDEX_SIZE}`);
    assertEquals(indexes.length, isAborted ? 2 : 1);
  }
});

Deno.test("ShardReader keeps a version that is not lasting only as long as somebody reads the shard, and releases each", async () => {
  const { backend, gate } = openLogged();
  let told = 0;
  let released = 0;
  const reader = new ShardReader({
    ...backend,
    read: (keys, task) =>
      backend.read(keys, (values) =>
        task({
          size: (key) => values.size(key),
          read: (key, range) => values.read(key, range),
          stream: (key) => values.stream(key),
          version(key) {
            const version = values.version(key)!;
            told++;
            return Object.create(version, {
              isLasting: { value: false },
              release: { value: () => released++ },
            });
          },
        })),
    readOf: (version, ...rest) =>
      backend.readOf!(Object.getPrototypeOf(version), ...rest),
  }, FORM);
  for (let i = 0; i < 2; i++) {
    await reader.read(KEY, [[0]], {});
    assertEquals([told, released], [i + 1, i + 1]);
  }
  await gate.open;
});

Deno.test("ShardReader keeps the least indexes that memory allows", async () => {
  const count = 2 ** 18;
  const layout = {
    ...LAYOUT,
    chunksPerShard: [count],
    indexHasChecksum: false,
  };
  const shard = encodeShardIndex(new Array(count).fill(undefined), layout);
  const keys = Array.from({ length: 6 }, (_, i): StoreKey => `/c/${i}`);
  const store = new MemoryStore(keys.map((key) => [key, shard]));
  const { backend, log } = logged(bound(store));
  const reader = new ShardReader(backend, { layouts: [layout] });
  const isRead = async (key: StoreKey) => {
    log.length = 0;
    await reader.read(key, [[0]], {});
    return log[0]!.startsWith("read ");
  };
  for (const key of keys) assert(await isRead(key));
  assertEquals(await isRead(keys[5]!), false);
  assertEquals(await isRead(keys[0]!), true);
});

Deno.test("ShardReader refuses damage of an inner chunk, and reads the others of the same turn", async () => {
  const index = [
    { offset: 0, length: 4 },
    { offset: 8, length: 3 }, // Its last byte is of the index.
    { offset: 90, length: 4 },
    undefined,
  ];
  const bytes = new Uint8Array([
    ...countingBytes(10),
    ...encodeShardIndex(index, LAYOUT),
  ]);
  const reader = new ShardReader(new MemoryStore([[KEY, bytes]]), FORM);
  for (let round = 0; round < 2; round++) {
    const [good, ...bad] = await Promise.allSettled(
      [0, 1, 2].map((place) => reader.read(KEY, [[place]], {})),
    );
    assertEquals(good, { status: "fulfilled", value: countingBytes(4) });
    for (const each of bad) {
      assert((each as PromiseRejectedResult).reason instanceof DamageError);
    }
  }
  await assertRejects(
    () => reader.read(KEY, [[4]], {}),
    RangeError,
  );
  const short = new ShardReader(
    new MemoryStore([[KEY, bytes.slice(20)]]),
    FORM,
  );
  await assertRejects(() => short.size(KEY, [[0]], {}), DamageError);
});

Deno.test("ShardReader compares the length of a file with its record", async () => {
  const index = encodeShardIndex(
    [{ offset: 0, length: 4 }, ...Array(3)],
    LAYOUT,
  );
  const form = { ...FORM, mayHaveRecords: true };
  for (const [size, isRefused] of [[9, false], [10, true]] as const) {
    const record = encodeFileRecord({ size: 9, contents: 0 });
    const bytes = new Uint8Array([
      ...new Uint8Array(size),
      ...record,
      ...index,
    ]);
    const store = new MemoryStore([[KEY, bytes]]);
    for (const backend of [store, backendOf(withoutVersions(store))]) {
      const read = new ShardReader(backend, form)
        .read(KEY, [[0]], {});
      if (isRefused) await assertRejects(() => read, DamageError);
      else assertEquals((await read)?.length, 4);
    }
  }
});
