/** Parts that are stored in parts: one list of objects, as if each transformer had a store of its own. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import {
  ConcatParts,
  MemoryStore,
  type Part,
  PartSizeError,
  type Store,
  type StoreKey,
} from "../../mod.ts";
import { flattenParts, unstacked } from "../../src/concat_parts/flat_parts.ts";
import { contentsOf, countingBytes } from "../support/bytes.ts";
import { observed, STORE_METHODS } from "../support/observed_store.ts";
import { readAll } from "../stores/store_values.ts";
import { runs } from "../support/runs.ts";

const KEY = "/c/0";

Deno.test("flattenParts gives the objects of a chunk their suffixes, sizes and storing order", () => {
  const outer = unstacked([
    { keySuffix: ".h", size: 3 },
    { keySuffix: "" },
    { keySuffix: ".t", size: 2 },
  ]);
  const inner = unstacked([
    { keySuffix: "-a", size: 1 },
    { keySuffix: "-b" },
  ]);
  const flat = flattenParts(outer, () => inner);
  assertEquals(flat.parts, [
    { keySuffix: ".h-a", size: 1 },
    { keySuffix: ".h-b", size: 2 },
    { keySuffix: "-a", size: 1 },
    { keySuffix: "-b" },
    { keySuffix: ".t-a", size: 1 },
    { keySuffix: ".t-b", size: 1 },
  ]);
  assertEquals(flat.storingOrder.map(({ keySuffix }) => keySuffix), [
    ...["-b", "-a"],
    ...[".h-b", ".h-a"],
    ...[".t-b", ".t-a"],
  ]);
  assertEquals(flat.sums, []);
});

Deno.test("flattenParts keeps the size of a part whose parts lack two sizes or have others", () => {
  const outer = unstacked([{ keySuffix: ".h", size: 3 }, { keySuffix: "" }]);
  const sumsOf = (...inner: Part[]) =>
    flattenParts(outer, () => unstacked(inner)).sums.map((sum) => [
      sum.keySuffix,
      sum.size,
      sum.parts.map(({ keySuffix, size }) => [keySuffix, size]),
    ]);
  assertEquals(sumsOf({ keySuffix: "-a" }, { keySuffix: "-b" }), [
    [".h", 3, [[".h-a", undefined], [".h-b", undefined]]],
  ]);
  assertEquals(sumsOf({ keySuffix: "-a", size: 3 }), []);
  assertEquals(sumsOf({ keySuffix: "-a", size: 4 }), [
    [".h", 3, [[".h-a", 4]]],
  ]);
  assertEquals(sumsOf({ keySuffix: "-a", size: 4 }, { keySuffix: "-b" }), [
    [".h", 3, [[".h-a", 4], [".h-b", 0]]],
  ]);
});

/** Generates parts of a transformer; several may lack a size. */
function layer(name: string): fc.Arbitrary<Part[]> {
  return fc.array(fc.option(fc.nat(3), { nil: undefined, freq: 2 }), {
    minLength: 1,
    maxLength: 3,
  }).map((sizes) =>
    sizes.map((size, i) => ({
      keySuffix: i === 0 ? "" : `.${name}${i}`,
      ...size === undefined ? {} : { size },
    }))
  );
}

function lacksTwoSizes(parts: readonly Part[]): boolean {
  return parts.filter(({ size }) => size === undefined).length > 1;
}

/** The result of an operation, or the name of its error. */
async function outcome(run: () => Promise<unknown>): Promise<unknown> {
  try {
    return await run();
  } catch (error) {
    return (error as Error).name;
  }
}

/** Applies transformers, the last one nearest to the store, and wraps the store between each two. */
function apply(
  layers: readonly Part[][],
  store: Store,
  wrap: (store: Store) => Store,
): Store {
  return layers.reduceRight(
    (store, parts) => wrap(new ConcatParts(parts).apply(store)),
    store,
  );
}

Deno.test("ConcatParts.apply: stacked transformers store, read and list chunks as a stack of separate stores does", async () => {
  const layers = fc.tuple(layer("a"), layer("b"), layer("c"))
    .chain((layers) =>
      fc.integer({ min: 2, max: 3 }).map((n) => layers.slice(0, n))
    );
  await fc.assert(
    fc.asyncProperty(
      layers,
      fc.nat(14),
      fc.array(fc.tuple(fc.nat(16), fc.nat(16)), { maxLength: 5 }),
      fc.nat(30),
      fc.constantFrom([...STORE_METHODS], [...STORE_METHODS, "group" as const]),
      async (layers, length, ranges, damaged, methods) => {
        const [a, b] = [new MemoryStore(), new MemoryStore()];
        const flat = apply(layers, observed(a, () => {}, methods), (s) => s);
        // A wrapper is not known to be a composed store.
        const separate = apply(layers, b, (s) => observed(s, () => {}));
        // A chunk that does not fit in two ways is refused for one of them.
        const set = (store: Store) =>
          store.set!(KEY, countingBytes(length)).then(() => true, () => false);
        const isStored = await set(flat);
        if (isStored !== await set(separate)) {
          // A store of whole parts cannot tell that these have sizes.
          assert(isStored && layers.some(lacksTwoSizes));
          assertEquals(await flat.get(KEY), countingBytes(length));
          for await (const key of a.list()) {
            await b.set(key, (await a.get(key))!);
          }
        }
        assertEquals(await contentsOf(a), await contentsOf(b));
        const keys = Object.keys(await contentsOf(a)) as StoreKey[];
        const check = async () => {
          for (
            const read of [
              (store: Store) => store.get(KEY),
              (store: Store) => store.size!(KEY),
              async (store: Store) => await readAll(await store.stream!(KEY)),
              (store: Store) => Array.fromAsync(store.list!()),
            ]
          ) {
            assertEquals(
              await outcome(() => read(flat)),
              await outcome(() => read(separate)),
            );
          }
        };
        await check();
        for (const [offset, length] of ranges) {
          for (const range of [{ offset, length }, { suffixLength: offset }]) {
            assertEquals(
              await flat.getRange!(KEY, range),
              await separate.getRange!(KEY, range),
            );
          }
        }
        const key = keys[damaged % (keys.length || 1)];
        if (key === undefined) return;
        const longer = countingBytes((await a.get(key))!.length + 1);
        for (const store of [a, b]) await store.set(key, longer);
        await check();
        for (const store of [a, b]) await store.delete(key);
        await check();
        await flat.delete!(KEY);
        assertEquals(await contentsOf(a), {});
      },
    ),
    { numRuns: runs(500) },
  );
});

Deno.test("ConcatParts.apply: two parts without sizes in a part with a size are checked together, in all ways of reading", async () => {
  const stored = new MemoryStore();
  const store = new ConcatParts([{ keySuffix: ".h", size: 3 }, {
    keySuffix: "",
  }]).apply(
    new ConcatParts([{ keySuffix: "-a" }, { keySuffix: "-b" }]).apply(stored),
  );
  const fill = async (lengths: Record<string, number>) => {
    for (const [suffix, length] of Object.entries(lengths)) {
      await stored.set(`${KEY}${suffix}`, countingBytes(length));
    }
  };
  await fill({ ".h-a": 1, ".h-b": 2, "-a": 4, "-b": 5 });
  assertEquals(await store.size(KEY), 12);
  assertEquals(
    (await store.getRange(KEY, { offset: 2, length: 3 }))?.length,
    3,
  );
  await fill({ ".h-b": 3 });
  for (
    const read of [
      () => store.get(KEY),
      () => store.size(KEY),
      () => store.getRange(KEY, { offset: 0, length: 1 }),
      () => store.getRange(KEY, { suffixLength: 1 }),
      () => store.stream(KEY),
    ]
  ) {
    const error = await assertRejects(read, PartSizeError);
    assertEquals([error.key, error.expected, error.actual], ["/c/0.h", 3, 4]);
  }
});

Deno.test("ConcatParts.apply: a part that is no chunk of the store below is one object", async () => {
  const stored = new MemoryStore();
  const below = new ConcatParts([{ keySuffix: "" }, {
    keySuffix: ".crc",
    size: 1,
  }])
    .apply(stored, { isChunkKey: (key) => /\/\d+$/.test(key) });
  const store = new ConcatParts([{ keySuffix: "" }, {
    keySuffix: ".index",
    size: 2,
  }])
    .apply(below, { isChunkKey: (key) => key.startsWith("/c/") });
  await store.set(KEY, countingBytes(6));
  await store.set("/c/x", countingBytes(6));
  await store.set("/7", countingBytes(3));
  assertEquals(await contentsOf(stored), {
    "/7": [0, 1],
    "/7.crc": [2],
    "/c/0": [0, 1, 2],
    "/c/0.crc": [3],
    "/c/0.index": [4, 5],
    "/c/x": [0, 1, 2, 3],
    "/c/x.index": [4, 5],
  });
  assertEquals(await store.get(KEY), countingBytes(6));
  assertEquals(await store.get("/c/x"), countingBytes(6));
  assertEquals(await below.get(KEY), countingBytes(4));
});
