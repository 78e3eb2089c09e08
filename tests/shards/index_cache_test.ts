import {
  assert,
  assertEquals,
  assertRejects,
  assertStrictEquals,
} from "@std/assert";
import fc from "fast-check";
import { parseShardLayout, type ShardIndex, type StoreKey } from "../../mod.ts";
import { IndexCache, type LoadedIndex } from "../../src/shards/index_cache.ts";
import { refusing } from "../support/metadata.ts";

/** How many entries a cache keeps. */
const MOST = 2 ** 20;
/** How many entries an index counts for beside its own. */
const MORE = 8;

const NAMES = ["/a", "/b", "/c", "/d", "/e"] as const;

/** An index that counts for a number of entries. */
function indexOf(entries: number): ShardIndex {
  return { length: entries - MORE } as unknown as ShardIndex; // Nothing else is looked at.
}

function lasting(index: ShardIndex | undefined): LoadedIndex {
  return { index, isLasting: true };
}

/** Loads of indexes that a test ends, and how often each was begun. */
function loads() {
  const begun: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<LoadedIndex>>();
  return {
    begun,
    load: (name: string) => () => {
      begun.push(name);
      const end = Promise.withResolvers<LoadedIndex>();
      ends.set(name, end);
      return end.promise;
    },
    async end(name: string, index: ShardIndex | undefined | Error) {
      const { resolve, reject, promise } = ends.get(name)!;
      if (index instanceof Error) reject(index);
      else resolve(lasting(index));
      await promise.catch(() => {});
      for (let turn = 0; turn < 9; turn++) await Promise.resolve();
    },
  };
}

/** Reads an index as a reader that enters the shard and leaves it. */
async function read(
  cache: IndexCache,
  key: StoreKey,
  name: string,
  load: Parameters<IndexCache["load"]>[2],
  signal?: AbortSignal,
): Promise<ShardIndex | undefined> {
  const shard = cache.enter(key);
  try {
    return await cache.load(shard, name, load, signal);
  } finally {
    cache.leave(shard);
  }
}

/** Whether a cache keeps an index. */
async function keeps(
  cache: IndexCache,
  key: StoreKey,
  name = "",
): Promise<boolean> {
  const error = new Error("Not kept");
  const outcome = await read(cache, key, name, () => Promise.reject(error))
    .then(() => "kept", (reason) => reason);
  if (outcome !== "kept") assertStrictEquals(outcome, error);
  return outcome === "kept";
}

Deno.test("IndexCache reads an index once, also if it is absent or being read", async () => {
  const cache = new IndexCache();
  const { begun, load, end } = loads();
  const [a, b] = [
    read(cache, "/a", "", load("/a")),
    read(cache, "/a", "", load("/a")),
  ];
  const absent = read(cache, "/b", "", load("/b"));
  const index = indexOf(3);
  await end("/a", index);
  await end("/b", undefined);
  assertStrictEquals(await a, index);
  assertStrictEquals(await b, index);
  assertStrictEquals(await read(cache, "/a", "", load("/a")), index);
  assertEquals(await absent, undefined);
  assertEquals(await read(cache, "/b", "", load("/b")), undefined);
  assertEquals(begun, ["/a", "/b"]);
});

Deno.test("IndexCache does not cache failures, and keeps an index read since", async () => {
  const cache = new IndexCache();
  const first = loads();
  const reading = read(cache, "/a", "", first.load("/a"));
  cache.forget("/a");
  const second = loads();
  const again = read(cache, "/a", "", second.load("/a"));
  const lost = new Error("Lost");
  await first.end("/a", lost);
  assertStrictEquals(await assertRejects(() => reading), lost);
  await second.end("/a", indexOf(2));
  assertEquals(await again, indexOf(2));
  assert(await keeps(cache, "/a"));

  const failing = read(cache, "/b", "", () => Promise.reject(lost));
  await assertRejects(() => failing);
  assert(!await keeps(cache, "/b"));
});

Deno.test("IndexCache.forget removes the indexes of a shard and its nested shards, also while they are read, and no others", async () => {
  const cache = new IndexCache();
  const names = [
    ["/c/1", ""],
    ["/c/1", "/0"],
    ["/c/1", "/0/2,1"],
    ["/c/10", ""],
    ["/c/1", "/"],
    ["/c/1.i", ""],
  ] as const;
  const { load, end } = loads();
  const reads = names.map(([key, name]) =>
    read(cache, key, name, load(key + name))
  );
  for (const name of names.slice(0, 2)) await end(name.join(""), indexOf(1));
  cache.forget("/c/1");
  for (const name of names.slice(2)) await end(name.join(""), indexOf(1));
  await Promise.all(reads);
  const kept: string[] = [];
  for (const [key, name] of names) {
    if (await keeps(cache, key, name)) kept.push(key + name);
  }
  assertEquals(kept, ["/c/10", "/c/1.i"]);
  cache.clear();
  assert(!await keeps(cache, "/c/10"));
});

Deno.test("IndexCache aborts the reading of an index without waiters, and later reads the index again", async () => {
  const cache = new IndexCache();
  const signals: AbortSignal[] = [];
  const stalled = ({ signal }: { signal?: AbortSignal }) => {
    signals.push(signal!);
    return new Promise<LoadedIndex>(() => {});
  };
  const [a, b] = [new AbortController(), new AbortController()];
  const first = read(cache, "/c/0", "", stalled, a.signal);
  const second = read(cache, "/c/0", "", stalled, b.signal);
  a.abort(new Error("Not wanted"));
  await assertRejects(() => first, Error, "Not wanted");
  assertEquals(signals.map(({ aborted }) => aborted), [false]);
  b.abort(new Error("Not wanted either"));
  await assertRejects(() => second, Error, "Not wanted either");
  assertEquals(signals.map(({ aborted }) => aborted), [true]);
  const index = indexOf(3);
  const again = read(cache, "/c/0", "", () => Promise.resolve(lasting(index)));
  assertStrictEquals(await again, index);
});

Deno.test("IndexCache keeps at most 2^20 entries, and drops the least recently used index", async () => {
  const cache = new IndexCache();
  const use = (name: StoreKey, entries: number) =>
    read(cache, name, "", () => Promise.resolve(lasting(indexOf(entries))));
  await use("/a", MOST / 2);
  await use("/b", MOST / 2 - 1);
  await use("/c", 1);
  await use("/a", 0); // Used again.
  await use("/d", 1);
  await use("/e", 1);
  const kept: string[] = [];
  for (const name of ["/d", "/a", "/c", "/b"] as const) {
    if (await keeps(cache, name)) kept.push(name);
  }
  assertEquals(kept, ["/d", "/a", "/c"]);
  await use("/huge", MOST + 1);
  assert(await keeps(cache, "/huge"));
  assert(!await keeps(cache, "/a"));
});

Deno.test("IndexCache does not count indexes that were forgotten or failed while they were read", async () => {
  const cache = new IndexCache();
  for (const end of [indexOf(MOST), new Error()]) {
    const first = loads();
    const reading = read(cache, "/a", "", first.load("/a")).catch(() => {});
    cache.forget("/a");
    await first.end("/a", end);
    await reading;
  }
  for (const name of ["/b", "/c"] as const) {
    await read(
      cache,
      name,
      "",
      () => Promise.resolve(lasting(indexOf(MOST / 2))),
    );
  }
  assert(await keeps(cache, "/b"));
  assert(await keeps(cache, "/c"));
});

Deno.test("IndexCache keeps at most 2^20 entries for any order of requests, reads and removals", async () => {
  const step = fc.record({
    do: fc.constantFrom("get", "get", "end", "end", "fail", "forget"),
    name: fc.constantFrom(...NAMES),
    entries: fc.constantFrom(1, MOST / 4, MOST / 2, MOST - 1, MOST),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 4, maxLength: 20 }),
      async (steps) => {
        const cache = new IndexCache();
        const { begun, load, end } = loads();
        const reading = new Map<string, number>();
        for (const [i, step] of steps.entries()) {
          const { name, entries } = step;
          if (step.do === "forget") cache.forget(name);
          else if (step.do === "get") {
            const before = begun.length;
            const id = `${name} ${i}`;
            read(cache, name, "", load(id)).catch(() => {});
            if (begun.length > before) reading.set(id, entries);
          } else {
            const [id, length] = [...reading].at(entries % reading.size) ?? [];
            if (id === undefined) continue;
            reading.delete(id);
            await end(id, step.do === "end" ? indexOf(length!) : new Error());
          }
        }
        for (const id of reading.keys()) await end(id, new Error());
        let kept = 0;
        for (const name of NAMES) {
          kept += await read(cache, name, "", () => Promise.reject(new Error()))
            .then((index) => index?.length ?? 1, () => 0);
        }
        assert(kept <= MOST, `${kept} entries are kept`);
      },
    ),
    { numRuns: 300 },
  );
});

const BYTES = { name: "bytes", configuration: { endian: "little" } };
const CRC32C = { name: "crc32c" };

/** Refuses index codecs; `path` is below `index_codecs`. */
const assertRefused = refusing((index_codecs: unknown[]) =>
  parseShardLayout({
    name: "sharding_indexed",
    configuration: { chunk_shape: [1], codecs: [BYTES], index_codecs },
  }, [1]), "/configuration/index_codecs");

Deno.test("parseShardLayout rejects index codecs other than bytes and crc32c after it", () => {
  const gzip = { name: "gzip", configuration: { level: 5 } };
  const wrong: [codecs: unknown[], names: string][] = [
    [[], "[]"],
    [[CRC32C], '["crc32c"]'],
    [[CRC32C, BYTES], '["crc32c", "bytes"]'],
    [[BYTES, BYTES], '["bytes", "bytes"]'],
    [[gzip], '["gzip"]'],
    [[BYTES, gzip], '["bytes", "gzip"]'],
    [[gzip, CRC32C], '["gzip", "crc32c"]'],
    [[BYTES, "zstd"], '["bytes", "zstd"]'],
    [["endian", CRC32C], '["endian", "crc32c"]'],
    [["Bytes"], '["Bytes"]'],
    [[BYTES, "crc32"], '["bytes", "crc32"]'],
    [[BYTES, CRC32C, CRC32C], '["bytes", "crc32c", "crc32c"]'],
    [[BYTES, CRC32C, gzip], '["bytes", "crc32c", "gzip"]'],
    [[BYTES, gzip, CRC32C], '["bytes", "gzip", "crc32c"]'],
    [["transpose", BYTES, CRC32C], '["transpose", "bytes", "crc32c"]'],
  ];
  for (const [codecs, names] of wrong) {
    assertRefused(
      codecs,
      `Expected index_codecs to be bytes, and maybe crc32c after it, found ${names}`,
      "",
    );
  }
});

Deno.test("parseShardLayout rejects bytes without a byte order, in long form and as a name alone", () => {
  const path = "/0/configuration/endian";
  const message = 'Missing member "endian" in the configuration of bytes';
  for (const bytes of ["bytes", { name: "bytes" }]) {
    assertRefused([bytes], message, path);
    assertRefused([bytes, CRC32C], message, path);
  }
  assertRefused([{ name: "bytes", configuration: {} }], message, path);
});

Deno.test("parseShardLayout rejects byte orders other than little and big", () => {
  for (const endian of ["native", "Little", "", null, 1, ["little"]]) {
    assertRefused(
      [{ name: "bytes", configuration: { endian } }, CRC32C],
      'Expected endian "little" or "big", as numbers of eight bytes need it, found',
      "/0/configuration/endian",
    );
  }
});

Deno.test("parseShardLayout rejects unknown members of bytes", () => {
  assertRefused(
    [{ name: "bytes", configuration: { endian: "little", size: 8 } }],
    'Unknown member "size" in the configuration of bytes; known are "endian"',
    "/0/configuration/size",
  );
});

Deno.test("parseShardLayout rejects invalid index codecs, and names them", () => {
  const valid = [BYTES, CRC32C];
  for (const i of [0, 1]) {
    const withCodec = (codec: unknown) => valid.with(i, codec as typeof BYTES);
    for (const codec of [null, undefined, 5, [], false]) {
      assertRefused(
        withCodec(codec),
        "Expected a codec, a name or an object with a name, found",
        `/${i}`,
      );
    }
    assertRefused(withCodec(""), "found an empty string", `/${i}`);
    assertRefused(withCodec({}), 'Missing member "name"', `/${i}/name`);
    assertRefused(
      withCodec({ name: ["bytes"] }),
      "Expected a name",
      `/${i}/name`,
    );
    assertRefused(
      withCodec({ name: "crc32c", configuration: 4 }),
      "Expected a configuration object, found 4",
      `/${i}/configuration`,
    );
    assertRefused(
      withCodec({ name: "crc32c", endian: "little" }),
      'Unknown member "endian" in a codec',
      `/${i}/endian`,
    );
  }
});
