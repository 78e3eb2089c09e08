/** Chunks in parts of any layout over all kinds of stores, against their bytes. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import {
  type Backend,
  type ByteRange,
  FileSystemStore,
  MemoryStore,
  MissingPartError,
  type Part,
  PartSizeError,
  type Store,
  type StoreKey,
} from "../../mod.ts";
import { partsBackend } from "../../src/concat_parts/mod.ts";
import { backendOf, resolveByteRange } from "../../src/stores/mod.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { countingBytes } from "../support/bytes.ts";
import { withoutVersions } from "../support/without_versions.ts";
import { runs } from "../support/runs.ts";

const KEY: StoreKey = "/c/0";
type Writable = Required<Backend>;

/** Runs a test with each kind of store. */
async function inStores(test: (store: Store) => Promise<void>): Promise<void> {
  await test(new MemoryStore());
  await test(withoutVersions(new MemoryStore()));
  const map = new Map<string, Uint8Array>();
  await test(map as unknown as Store);
  await inTempDir((folder) => test(new FileSystemStore(folder)));
}

function chunks(store: Store, parts: readonly Part[]): Writable {
  const isChunkKey = (key: StoreKey) => /^\/c\/\d+$/.test(key);
  return partsBackend(backendOf(store), parts, isChunkKey) as Writable;
}

/** Parts with one unsized part at any place, some of them too large to be read whole. */
const layouts: fc.Arbitrary<Part[]> = fc.tuple(
  fc.array(fc.constantFrom(0, 1, 2, 7, 300_000), { maxLength: 2 }),
  fc.boolean(),
  fc.array(fc.constantFrom(0, 1, 5, 300_000), { maxLength: 2 }),
).map(([head, isUnsized, tail]) => {
  const sized = (name: string) => (size: number, i: number) => ({
    keySuffix: `${name}${i}`,
    size,
  });
  const parts: Part[] = [
    ...head.map(sized(".h")),
    ...isUnsized ? [{ keySuffix: "" }] : [],
    ...tail.map(sized(".t")),
  ];
  return parts.length > 0 ? parts : [{ keySuffix: "" }];
});

const ranges: fc.Arbitrary<ByteRange> = fc.oneof(
  fc.record({ offset: fc.nat(40), length: fc.nat(40) }),
  fc.record({
    offset: fc.integer({ min: 299_990, max: 600_020 }),
    length: fc.constantFrom(0, 3, 300_000, Number.MAX_SAFE_INTEGER),
  }),
  fc.record({ suffixLength: fc.constantFrom(0, 1, 4, 6, 9, 300_004, 2 ** 40) }),
);

async function bytesOf(
  stream: ReadableStream<Uint8Array> | undefined,
): Promise<Uint8Array | undefined> {
  return stream && await new Response(stream as BodyInit).bytes();
}

Deno.test("partsBackend reads any range of any layout as the joined bytes, by snapshots, streams and versions", async () => {
  await inStores(async (store) => {
    await fc.assert(
      fc.asyncProperty(
        layouts,
        fc.nat(12),
        fc.array(ranges, { minLength: 1, maxLength: 5 }),
        fc.nat(1e6),
        async (parts, length, ranges, number) => {
          const key: StoreKey = `/c/${number}`;
          const isFixed = parts.every(({ size }) => size !== undefined);
          const sized = parts.reduce((sum, { size = 0 }) => sum + size, 0);
          const chunk = countingBytes(sized + (isFixed ? 0 : length));
          const backend = chunks(store, parts);
          await backend.update([key], () => Promise.resolve([chunk]));
          const slices = ranges.map((range) => {
            const { start, end } = resolveByteRange(range, chunk.length);
            return { range, slice: chunk.slice(start, end) };
          });
          const { version, size, whole, streamed } = await backend.read(
            [key],
            async (values) => {
              for (const { range, slice } of slices) {
                assertEquals(await values.read(key, range), slice);
                const stream = await values.stream(key, range);
                assertEquals(await bytesOf(stream), slice);
              }
              return {
                size: await values.size(key),
                whole: await values.read(key),
                streamed: await bytesOf(await values.stream(key)),
                version: values.version(key),
              };
            },
          );
          assertEquals(size, chunk.length);
          assertEquals(whole, chunk);
          assertEquals(streamed, chunk);
          if (version !== undefined) {
            for (const { range, slice } of slices) {
              assertEquals(await backend.readOf(version, key, range), slice);
            }
            assert(
              await backend.readOf(version, "/c/x", ranges[0]!) === undefined,
            );
            await backend.update([key], () => Promise.resolve([chunk]));
            for (const range of [{ offset: 0, length: 0 }, ...ranges]) {
              const read = await backend.readOf(version, key, range);
              assertEquals(read, undefined);
            }
            version.release();
          }
          await backend.remove([key]);
          const absent = await backend.read([key], async (values) => [
            await values.size(key),
            await values.read(key),
            await values.read(key, ranges[0]),
            await values.stream(key),
          ]);
          assertEquals(absent, Array(4).fill(undefined));
        },
      ),
      { numRuns: runs(100) },
    );
  });
});

const PARTS: Part[] = [
  { keySuffix: ".h", size: 2 },
  { keySuffix: "" },
  { keySuffix: ".t", size: 3 },
];

Deno.test("partsBackend writes pieces of any lengths to the parts, and stores nothing before the commit", async () => {
  await inStores(async (store) => {
    const backend = chunks(store, PARTS);
    for (const cuts of [[0], [1, 2, 3], [5], [2, 2, 2, 2, 2], [9, 1], [1]]) {
      const length = Math.max(5, cuts.reduce((sum, n) => sum + n));
      const chunk = countingBytes(length, 10);
      const pending = await backend.prepare([KEY]);
      const writer = await pending.writer(KEY);
      const memory = new Uint8Array(16);
      let start = 0;
      for (const cut of [...cuts, length]) {
        const piece = chunk.subarray(start, Math.min(start += cut, length));
        memory.set(piece); // The writer must not keep the memory.
        const view = memory.subarray(0, piece.length);
        if (piece.length > 0) {
          assertEquals(await writer.write(view), piece.length);
        }
        memory.fill(255);
        if (start >= length) break;
      }
      await writer.close();
      assertEquals(await store.get("/c/0.t"), undefined);
      await pending.commit();
      assertEquals(
        await Promise.all(
          ["/c/0.h", "/c/0", "/c/0.t"].map((key) => store.get(key as StoreKey)),
        ),
        [chunk.slice(0, 2), chunk.slice(2, -3), chunk.slice(-3)],
      );
      await backend.remove([KEY]);
    }
  });
});

Deno.test("partsBackend refuses chunks that do not fit, in every way of writing, and keeps the earlier chunk", async () => {
  await inStores(async (store) => {
    const fixed = [{ keySuffix: ".a", size: 2 }, { keySuffix: ".b", size: 2 }];
    const cases = [[PARTS, 4, 5], [fixed, 3, 4], [fixed, 5, 4]] as const;
    for (const [parts, length, expected] of cases) {
      const backend = chunks(store, parts);
      const before = countingBytes(expected);
      await backend.update([KEY], () => Promise.resolve([before]));
      const bytes = new Uint8Array(length);
      const writes = [
        () => backend.update([KEY], () => Promise.resolve([bytes])),
        async () => await (await backend.prepare([KEY])).set(KEY, bytes),
        async () => {
          const pending = await backend.prepare([KEY]);
          const writer = await pending.writer(KEY);
          try {
            await writer.write(bytes);
            await writer.close();
          } finally {
            await writer.abort?.("refused");
            await pending.abort("refused");
          }
        },
      ];
      for (const write of writes) {
        const error = await assertRejects(write, PartSizeError);
        assertEquals([error.expected, error.actual], [expected, length]);
      }
      assertEquals(await backend.read([KEY], (each) => each.read(KEY)), before);
      await backend.remove([KEY]);
    }
    const unsized = chunks(store, [{ keySuffix: ".a" }, { keySuffix: ".b" }]);
    for (
      const write of [
        () => unsized.prepare([KEY]),
        () => unsized.update([KEY], () => Promise.resolve("delete")),
      ]
    ) await assertRejects(write, TypeError);
  });
});

Deno.test("partsBackend refuses damaged chunks in every way of reading, and names what is missing", async () => {
  const whole: Record<string, Uint8Array> = {
    "/c/0.h": countingBytes(2),
    "/c/0": countingBytes(4),
    "/c/0.t": countingBytes(3),
  };
  const ways = [
    (backend: Backend) => backend.read([KEY], (each) => each.read(KEY)),
    (backend: Backend) => backend.read([KEY], (each) => each.size(KEY)),
    (backend: Backend) => backend.read([KEY], (each) => each.stream(KEY)),
    (backend: Backend) =>
      backend.read([KEY], (each) => each.read(KEY, { offset: 0, length: 9 })),
    (backend: Backend) =>
      backend.read([KEY], (each) => each.read(KEY, { suffixLength: 9 })),
  ];
  await inStores(async (store) => {
    const backend = chunks(store, PARTS);
    for (const missing of Object.keys(whole) as StoreKey[]) {
      await backend.remove([KEY]);
      for (const [key, bytes] of Object.entries(whole)) {
        if (key !== missing) await store.set!(key as StoreKey, bytes);
      }
      for (const way of ways) {
        const error = await assertRejects(() => way(backend), MissingPartError);
        assertEquals(error.missing, [missing]);
        assertEquals(
          error.present,
          Object.keys(whole).filter((key) => key !== missing),
        );
      }
      await store.set!(missing, whole[missing]!);
      if (missing === KEY) continue;
      for (const length of [whole[missing]!.length - 1, 9]) {
        await store.set!(missing, new Uint8Array(length));
        for (const way of ways) {
          const error = await assertRejects(() => way(backend), PartSizeError);
          assertEquals([error.key, error.expected], [
            missing,
            whole[missing]!.length,
          ]);
        }
      }
    }
  });
});

Deno.test("partsBackend refuses a range of a version whose part has another size than it must", async () => {
  const store = new MemoryStore([
    ["/c/0.h", countingBytes(3)],
    ["/c/0", countingBytes(4)],
    ["/c/0.t", countingBytes(3)],
  ]);
  const backend = chunks(store, PARTS);
  const version = await backend.read([KEY], async (values) => {
    await values.read(KEY, { suffixLength: 3 });
    return values.version(KEY);
  });
  const read = (offset: number) =>
    backend.readOf(version!, KEY, { offset, length: 1 });
  assertEquals(await read(3), Uint8Array.of(1));
  const error = await assertRejects(() => read(0), PartSizeError);
  assertEquals([error.key, error.expected, error.actual], ["/c/0.h", 2, 3]);
});

Deno.test("partsBackend gives the keys of parts in storing order and the chunk as the name, and passes other keys on", async () => {
  const calls: unknown[] = [];
  const below: Backend = {
    read: (keys, _task, options) => {
      calls.push(["read", keys, options?.name]);
      return Promise.resolve(undefined as never);
    },
    remove: (keys, options) => {
      calls.push(["remove", keys, options?.name]);
      return Promise.resolve();
    },
    update: (keys, _change, options) => {
      calls.push(["update", keys, options?.name]);
      return Promise.resolve();
    },
  };
  const backend = chunks({ get: () => Promise.resolve(undefined) }, PARTS);
  assertEquals(Object.keys(backend).sort(), ["read", "readOf"]);
  const parts = partsBackend(below, PARTS, (key) => key === KEY);
  await parts.read([KEY], () => Promise.resolve());
  await parts.read(["/zarr.json"], () => Promise.resolve());
  await parts.remove!([KEY]);
  await parts.update!([KEY, "/x"], () => Promise.resolve("keep"));
  const keys = ["/c/0", "/c/0.h", "/c/0.t"];
  assertEquals(calls, [
    ["read", keys, KEY],
    ["read", ["/zarr.json"], "/zarr.json"],
    ["remove", keys, KEY],
    ["update", [...keys, "/x"], KEY],
  ]);
});
