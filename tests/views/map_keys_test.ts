import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import fc from "fast-check";
import {
  type KeyTable,
  mapKeys,
  type MapKeysOptions,
  MemoryStore,
  type StoreKey,
} from "../../mod.ts";
import { backendOf } from "../../src/stores/mod.ts";
import { listed, readAll, streamOf } from "../stores/store_values.ts";
import { contentsOf, countingBytes } from "../support/bytes.ts";

const BYTES = countingBytes(9);
const NAMES: StoreKey[] = ["/a", "/a/b", "/b", "/b/a", "/b/ab", "/c"];

const table = fc.tuple(
  fc.subarray(NAMES),
  fc.shuffledSubarray(NAMES, {
    minLength: NAMES.length,
    maxLength: NAMES.length,
  }),
).map(([sources, targets]) =>
  new Map(sources.map((source, i) => [source, targets[i]!]))
);

Deno.test("mapKeys shows, lists, writes and deletes what a slow search finds", async () => {
  await fc.assert(
    fc.asyncProperty(
      table,
      fc.subarray(NAMES),
      fc.boolean(),
      async (table, stored, showTargets) => {
        const below = new MemoryStore();
        for (const key of stored) {
          await below.set(key, new TextEncoder().encode(key));
        }
        const find = (value: StoreKey) =>
          [...table].find(([, target]) => target === value)?.[0];
        const store = mapKeys(below, table, { showTargets });
        // Where each name leads: undefined for one that is not shown.
        const places = new Map(NAMES.map((name) => {
          const isHidden = find(name) !== undefined && !showTargets;
          return [name, table.get(name) ?? (isHidden ? undefined : name)];
        }));
        const isStored = (name: StoreKey) => stored.includes(places.get(name)!);
        for (const prefix of ["/", "/a", "/b/", "/b/a", "/x"] as const) {
          assertEquals(
            await listed(store, prefix),
            NAMES.filter((name) => isStored(name) && name.startsWith(prefix))
              .sort(),
          );
        }
        for (const name of NAMES) {
          const value = isStored(name) ? places.get(name)! : undefined;
          const bytes = value && new TextEncoder().encode(value);
          const range = { offset: 1, length: 1 };
          assertEquals(await store.get(name), bytes);
          assertEquals(
            await store.getRange(name, range),
            bytes?.slice(1, 2),
          );
          assertEquals(await readAll(await store.stream(name)), bytes);
          assertEquals(await store.size(name), bytes?.length);
        }
        for (const name of NAMES) {
          const before = await contentsOf(below);
          const place = places.get(name);
          if (place === undefined) {
            const expected = `Key "${name}" is not shown, since "${
              find(name)
            }" is mapped to it`;
            for (
              const use of [
                () => store.set(name, BYTES),
                () => store.set(name, streamOf(BYTES)),
                () => store.delete(name),
                () =>
                  backendOf(store).update!(
                    [name],
                    () => Promise.resolve("keep"),
                  ),
              ]
            ) await assertRejects(use, RangeError, expected);
            assertEquals(await contentsOf(below), before);
            continue;
          }
          await store.set(name, BYTES);
          assertEquals(
            await contentsOf(below),
            { ...before, [place]: [...BYTES] },
          );
          await store.delete(name);
          const { [place]: _, ...others } = before;
          assertEquals(await contentsOf(below), others);
        }
      },
    ),
    { numRuns: 300 },
  );
});

const FORMS: Record<
  string,
  [keys: KeyTable, options?: MapKeysOptions]
> = {
  "a Map": [new Map([["/s/c/0.tif", "/raw/x y.tif"]])],
  "an object of JSON": [JSON.parse('{ "/s/c/0.tif": "/raw/x y.tif" }')],
  "keys relative to the root": [{ "s/c/0.tif": "raw/x y.tif" }],
  "keys relative to an array": [
    { "c/0.tif": "../raw/x y.tif" },
    { path: "s" },
  ],
  "keys relative to a folder with slashes around it": [
    { "../../s/c/0.tif": "../../raw/x y.tif" },
    { path: "/s/t/" },
  ],
  "relative and absolute keys": [
    { "/s/c/0.tif": "../raw/x y.tif" },
    { path: "s" },
  ],
};

for (const [form, [keys, options]] of Object.entries(FORMS)) {
  Deno.test(`mapKeys takes ${form}`, async () => {
    const below = new MemoryStore([["/raw/x y.tif", BYTES], ["/s/x", BYTES]]);
    const store = mapKeys(below, keys, options);
    assertEquals(await listed(store), ["/s/c/0.tif", "/s/x"]);
    assertEquals(await store.get("/s/c/0.tif"), BYTES);
    assertEquals(await store.get("/raw/x y.tif"), undefined);
  });
}

const REFUSED: [unknown, MapKeysOptions, ErrorConstructor, string][] = [
  [undefined, {}, TypeError, "an object or a Map, found undefined"],
  ["/a", {}, TypeError, 'an object or a Map, found "/a"'],
  [() => "/a", {}, TypeError, "an object or a Map, found a function"],
  [["/a", "/b"], {}, TypeError, "strings, found the key 0"],
  [{ a: 1 }, {}, TypeError, "strings, found the key 1"],
  [new Map([[1, "/a"]]), {}, TypeError, "strings, found the key 1"],
  [
    { "/a": "/c", "/b": "/c" },
    {},
    RangeError,
    'Keys "/a" and "/b" are both mapped to "/c"',
  ],
  [
    { "/a": "/c", "b": "c" },
    {},
    RangeError,
    'Keys "/a" and "/b" are both mapped to "/c"',
  ],
  [
    { "/a": "/c", "a": "d" },
    {},
    RangeError,
    'Key "/a" is mapped twice, to "/c" and to "/d"',
  ],
  [{ "/a": "/../c" }, {}, RangeError, 'holds the segment ".."'],
  [{ "/a/": "/c" }, {}, RangeError, 'Key "/a/" holds an empty segment'],
  [{ "": "/c" }, {}, RangeError, 'Key "/" holds an empty segment'],
  [
    { "a": "../c" },
    {},
    RangeError,
    'Key "../c" leads out of the store from "/"',
  ],
  [
    { "a": "../../c" },
    { path: "s" },
    RangeError,
    'Key "../../c" leads out of the store from "/s"',
  ],
  [{ "a": "b/../../c" }, { path: "s" }, RangeError, 'holds the segment ".."'],
  [
    { "a": "b" },
    { path: "s//t" },
    RangeError,
    'Path "s//t" holds an empty segment',
  ],
];

Deno.test("mapKeys refuses tables with errors that name the keys", () => {
  for (const [keys, options, type, message] of REFUSED) {
    assertThrows(
      () => mapKeys(new MemoryStore(), keys as KeyTable, options),
      type,
      message,
    );
  }
  assertThrows(
    () => mapKeys("data" as unknown as MemoryStore, {}),
    TypeError,
    "Expected a store",
  );
});

Deno.test("mapKeys tells versions of targets, which the store below understands", async () => {
  const store = new MemoryStore([["/b", BYTES]]);
  const mapped = mapKeys(store, { "/a": "/b" });
  const backend = backendOf(mapped);
  const [version, hidden] = await backend.read(
    ["/a", "/b"],
    (values) => Promise.resolve([values.version("/a"), values.version("/b")]),
  );
  assertEquals(hidden, undefined);
  const range = { offset: 8, length: 1 };
  const read = () =>
    Promise.all([
      backend.readOf!(version!, "/a", range),
      store.readOf(version!, "/b", range),
    ]);
  assertEquals(await read(), [Uint8Array.of(8), Uint8Array.of(8)]);
  assertEquals(await backend.readOf!(version!, "/b", range), undefined);
  await mapped.set("/a", countingBytes(5));
  assertEquals(await read(), [undefined, undefined]);
});
