import { assert, assertEquals } from "@std/assert";
import * as zarr from "zarrita";
import {
  type ArrayMetadata,
  createArrayChunks,
  FileSystemStore,
  MemoryStore,
  openArrayChunks,
  type PlainStore,
  plainView,
  type StoreKey,
} from "../../mod.ts";
import { logged } from "../support/observed_store.ts";
import { concatParts } from "../support/metadata.ts";

/** An elevation model of 3 × 4 shards, whose index has 4 × 3 entries and a checksum. */
const SOURCE = new FileSystemStore(
  new URL("../fixtures/dem.zarr", import.meta.url),
);
const INDEX_SIZE = 4 * 3 * 16 + 4;

const WAYS: Record<string, Record<string, unknown>> = {
  "v2 keys": { chunk_key_encoding: "v2" },
  "a suffix and parts": {
    chunk_key_encoding: {
      name: "suffix",
      configuration: { suffix: ".shard.zip", base_encoding: "v2" },
    },
    storage_transformers: [
      concatParts({ key_suffix: ".head", size: 7 }, { key_suffix: "" }, {
        key_suffix: ".index",
        size: INDEX_SIZE,
      }),
    ],
  },
  "parts in parts": {
    storage_transformers: [
      concatParts({ key_suffix: ".data" }, {
        key_suffix: ".index",
        size: INDEX_SIZE,
      }),
      concatParts({ key_suffix: "/a", size: 5 }, { key_suffix: "/b" }),
    ],
  },
};

/** Stores the elevation model with other keys or parts under `group/c/0`. */
async function storedAgain(
  changes: Record<string, unknown>,
): Promise<MemoryStore> {
  const source = await openArrayChunks(SOURCE);
  const store = new MemoryStore();
  const chunks = await createArrayChunks(store, "group/c/0", {
    ...source.metadata,
    ...changes,
  } as ArrayMetadata);
  for await (const coordinates of source.list()) {
    await chunks.set(coordinates, (await source.get(coordinates))!);
  }
  const group = '{"zarr_format":3,"node_type":"group","attributes":{}}';
  await store.set("/group/zarr.json", new TextEncoder().encode(group));
  return store;
}

async function openWith(store: zarr.AsyncReadable, path: string) {
  const location = zarr.root(store).resolve(path);
  const array = await zarr.open.v3(location, { kind: "array" });
  assert(array.is("int16"));
  return array;
}

/** Asserts that the shards are complete, since zarrita accepts any bytes as an index. */
async function assertShardsSame(view: PlainStore): Promise<void> {
  const range = { suffixLength: INDEX_SIZE };
  for await (const key of SOURCE.list("/c/")) {
    const shown: StoreKey = `/group/c/0${key}`;
    assertEquals(await view.get(shown), await SOURCE.get(key));
    assertEquals(
      await view.getRange(shown, range),
      await SOURCE.getRange(key, range),
    );
  }
}

const SLICES = [
  null,
  [zarr.slice(100, 140), zarr.slice(200, 330)],
  [343, zarr.slice(null)],
  [zarr.slice(null, null, 50), 402],
];

for (const [name, changes] of Object.entries(WAYS)) {
  Deno.test(`plainView lets zarrita read arrays with ${name}, whole and by slices`, async () => {
    const expected = await openWith(SOURCE, "/");
    const view = plainView(await storedAgain(changes));
    await assertShardsSame(view);
    const array = await openWith(view, "/group/c/0");
    assertEquals(array.shape, expected.shape);
    assertEquals(array.attrs, expected.attrs);
    for (const slice of SLICES) {
      const { data, shape } = await zarr.get(array, slice);
      const direct = await zarr.get(expected, slice);
      assertEquals(shape, direct.shape);
      assertEquals(data, direct.data);
    }
  });
}

Deno.test("plainView lets zarrita open the group above, and reads each document once", async () => {
  const stored = await storedAgain(WAYS["v2 keys"]!);
  const { store, log } = logged(stored);
  const view = plainView(store);
  await assertShardsSame(plainView(stored));
  const root = zarr.root(view);
  const group = await zarr.open.v3(root.resolve("group"), { kind: "group" });
  const array = await zarr.open.v3(group.resolve("c/0"), { kind: "array" });
  await zarr.get(array, [zarr.slice(0, 2), zarr.slice(0, 2)]);
  const first = log.length;
  await zarr.get(array, [zarr.slice(0, 2), zarr.slice(0, 2)]);
  assertEquals(log.filter((request) => request.endsWith("zarr.json")), [
    "get /group/zarr.json",
    "get /group/c/0/zarr.json",
  ]);
  const again = log.slice(first);
  assert(again.length > 0);
  assertEquals(again.filter((each) => !each.endsWith(" /group/c/0/0.0")), []);
});
