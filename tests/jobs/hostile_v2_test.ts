/** Documents of Zarr v2 with any content never crash a job. */
import { assert, assertInstanceOf } from "@std/assert";
import fc from "fast-check";
import { convert, inspect, migrate, verify } from "../../jobs.ts";
import {
  MemoryStore,
  MetadataError,
  openArrayChunks,
  type StoreKey,
  v2View,
} from "../../mod.ts";
import { utf8, V2_GROUP, v2Metadata } from "../support/documents.ts";
import { runs } from "../support/runs.ts";

const ARRAY = v2Metadata({ dtype: "<u2", fill_value: 7 });
const members = fc.record({
  shape: fc.oneof(fc.constant([2 ** 53]), fc.jsonValue()),
  chunks: fc.jsonValue(),
  dtype: fc.oneof(
    fc.constantFrom("|S2147483648", "<M8[0s]", "|V1048577", "<U536870912"),
    fc.jsonValue(),
  ),
  compressor: fc.jsonValue(),
  filters: fc.jsonValue(),
  fill_value: fc.jsonValue(),
  dimension_separator: fc.constantFrom("/", ".", "", 5),
}, { requiredKeys: [] });
const array = fc.oneof(
  { weight: 3, arbitrary: fc.constant(ARRAY) },
  members.map((each) => ({ ...ARRAY, ...each })),
);
const group = fc.oneof(
  { weight: 3, arbitrary: fc.constant(V2_GROUP) },
  fc.jsonValue(),
);
const paths = fc.constantFrom(
  ...["", "a", "a/b", "c", "__proto__", "a/../b", "zarr.json", " ", "é"],
);
const consolidated = fc.record({
  metadata: fc.dictionary(
    fc.tuple(paths, fc.constantFrom(".zarray", ".zgroup", ".zattrs", "x"))
      .map(([path, name]) => path === "" ? name : `${path}/${name}`),
    fc.oneof(array, group, fc.jsonValue()),
    { noNullPrototype: true },
  ),
});
const bytes = (json: fc.Arbitrary<unknown>) =>
  fc.oneof(
    {
      weight: 9,
      arbitrary: json.map((value) => utf8(JSON.stringify(value) ?? "")),
    },
    fc.uint8Array({ maxLength: 20 }),
    fc.constantFrom(utf8('{"a": NaN, "__proto__": 1}'), utf8("[".repeat(900))),
  );

const values = fc.array(
  fc.oneof(
    fc.tuple(fc.constant(".zarray"), bytes(array)),
    fc.tuple(fc.constant(".zgroup"), bytes(group)),
    fc.tuple(fc.constant(".zattrs"), bytes(fc.jsonValue())),
    fc.tuple(fc.constant(".zmetadata"), bytes(consolidated)),
    fc.tuple(fc.constantFrom("0.0", "1/0"), fc.uint8Array({ maxLength: 9 })),
  ).chain(([name, bytes]) =>
    fc.constantFrom("", "/a", "/a/b", "/c").map((
      folder,
    ): [StoreKey, Uint8Array] => [`${folder as StoreKey}/${name}`, bytes])
  ),
  { maxLength: 12 },
);

Deno.test("jobs read any documents of Zarr v2, or refuse them by a MetadataError", async () => {
  let adopted = 0;
  await fc.assert(
    fc.asyncProperty(values, fc.boolean(), async (values, isRoot) => {
      const all = new Map(values);
      if (isRoot) all.set("/.zgroup", utf8('{"zarr_format": 2}'));
      const jobs = [
        (store: MemoryStore) => inspect(store),
        (store: MemoryStore) => verify(store, "", { deep: true }),
        (store: MemoryStore) =>
          convert(store, new MemoryStore(), { keepGoing: true }),
        (store: MemoryStore) => convert(v2View(store), new MemoryStore()),
        async (store: MemoryStore) => {
          const { written } = await migrate(store, { keepGoing: true });
          for (const key of written) {
            const path = key.slice(1, -"/zarr.json".length);
            const { arrays } = await migrate(store, {
              dryRun: true,
              keepGoing: true,
            });
            if (arrays.includes(path)) await openArrayChunks(store, path);
            adopted++;
          }
          assert(
            (await migrate(store, { keepGoing: true })).written.length === 0,
          );
        },
      ];
      for (const job of jobs) {
        try {
          await job(new MemoryStore(all));
        } catch (error) {
          assertInstanceOf(error, MetadataError, String(error));
        }
      }
    }),
    { numRuns: runs(500) },
  );
  assert(adopted > 0, `${adopted}`);
});
