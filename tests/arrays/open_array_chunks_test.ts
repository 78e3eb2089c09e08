import { assertEquals, assertRejects } from "@std/assert";
import {
  type ChunkKeyEncoding,
  ChunkKeyError,
  createArrayChunks,
  MemoryStore,
  MetadataError,
  openArrayChunks,
  registerChunkKeyEncoding,
  type Store,
  type StoreKey,
} from "../../mod.ts";
import { contentsOf } from "../support/bytes.ts";
import { arrayMetadata, concatParts } from "../support/metadata.ts";
import { logged, observed } from "../support/observed_store.ts";

function storeWith(key: StoreKey, document: unknown): MemoryStore {
  const text = typeof document === "string"
    ? document
    : JSON.stringify(document);
  return new MemoryStore([[key, new TextEncoder().encode(text)]]);
}

/** Asserts that opening and creating refuse the metadata, and write nothing. */
async function assertRefused(
  changes: Record<string, unknown>,
  message: string,
  path: string,
): Promise<void> {
  const metadata = arrayMetadata(changes);
  const opening = await assertRejects(
    () => openArrayChunks(storeWith("/a/zarr.json", metadata), "a"),
    MetadataError,
    message,
  );
  assertEquals(opening.path, path);
  assertEquals(
    opening.message,
    `${opening.problem} (at /a/zarr.json#${path} in MemoryStore(1))`,
  );
  const store = new MemoryStore();
  const creating = await assertRejects(
    () => createArrayChunks(store, "a", metadata),
    MetadataError,
    message,
  );
  assertEquals(creating.path, path);
  assertEquals(await contentsOf(store), {});
}

Deno.test("openArrayChunks rethrows errors of the store, and passes the signal on", async () => {
  const failing: Store = { get: () => Promise.reject(new Error("No network")) };
  await assertRejects(() => openArrayChunks(failing), Error, "No network");
  const { signal } = new AbortController();
  const signals: unknown[] = [];
  const store = observed(
    new MemoryStore(),
    ({ options }) => signals.push(options?.signal),
  );
  await assertRejects(
    () => openArrayChunks(store, "", { signal }),
    MetadataError,
  );
  await createArrayChunks(store, "", arrayMetadata(), { signal });
  await openArrayChunks(store, "", { signal });
  assertEquals(signals.length, 7);
  assertEquals(signals.every((each) => each === signal), true);
});

Deno.test("openArrayChunks and createArrayChunks give the place of an invalid encoding, transformer or part key", async () => {
  const suffix = (suffix: string) => ({
    chunk_key_encoding: { name: "suffix", configuration: { suffix } },
  });
  const transformers = (...storage_transformers: unknown[]) => ({
    storage_transformers,
  });
  const parts = (last: string) =>
    transformers(
      concatParts({ key_suffix: "" }, { key_suffix: last, size: 4 }),
    );
  const configuration = { parts: [{ key_suffix: "" }], order: 1 };
  const first = "/storage_transformers/0";
  const ofPart = `${first}/configuration/parts/1/key_suffix`;
  const cases: [Record<string, unknown>, message: string, path: string][] = [
    [suffix("/../x"), "..", "/chunk_key_encoding/configuration/suffix"],
    [
      { chunk_key_encoding: { name: "hilbert" } },
      '"hilbert"',
      "/chunk_key_encoding/name",
    ],
    [
      transformers(concatParts({ key_suffix: "" }), concatParts()),
      "at least one part",
      "/storage_transformers/1/configuration/parts",
    ],
    [
      transformers({ name: "chunk-manifest-json", configuration: {} }),
      'Unknown storage transformer "chunk-manifest-json"; known is "concat-parts"',
      `${first}/name`,
    ],
    [transformers(7), "Expected a storage transformer", first],
    [
      transformers({ name: "concat-parts", configuration }),
      'Unknown member "order" in the configuration of concat-parts; known are "parts"',
      `${first}/configuration/order`,
    ],
    [parts("0"), 'Two parts could be stored under the key "c/1/10"', ofPart],
    [{ ...parts("0"), ...suffix("0") }, "Two parts could be stored", ofPart],
    [
      { ...parts(".json"), ...suffix("/zarr") },
      'The part key "c/0/0/zarr.json" is that of a metadata document',
      ofPart,
    ],
  ];
  for (const [changes, message, path] of cases) {
    await assertRefused(changes, message, path);
  }
  const harmless = arrayMetadata({ ...parts("0"), ...suffix(".tiff") });
  await createArrayChunks(new MemoryStore(), "", harmless);
});

Deno.test("ArrayChunks skips an unknown storage transformer with must_understand: false", async () => {
  const store = new MemoryStore();
  const chunks = await createArrayChunks(
    store,
    "",
    arrayMetadata({
      storage_transformers: [
        { name: "hints", must_understand: false },
        concatParts({ key_suffix: ".a", size: 1 }, { key_suffix: ".b" }),
        {
          name: "more-hints",
          configuration: { any: 1 },
          must_understand: false,
        },
      ],
    }),
  );
  await chunks.set([0, 0], Uint8Array.of(1, 2, 3));
  assertEquals(await store.get("/c/0/0.a"), Uint8Array.of(1));
  assertEquals(await store.get("/c/0/0.b"), Uint8Array.of(2, 3));
  // The metadata keeps it for programs that understand it.
  const written = JSON.parse(
    new TextDecoder().decode(await store.get("/zarr.json")),
  );
  assertEquals(written.storage_transformers.length, 3);
});

Deno.test("createArrayChunks does not replace an existing node", async () => {
  for (
    const document of [
      arrayMetadata(),
      { zarr_format: 3, node_type: "group" },
      "not JSON",
    ]
  ) {
    const store = storeWith("/a/zarr.json", document);
    const before = await contentsOf(store);
    await assertRejects(
      () => createArrayChunks(store, "a", arrayMetadata()),
      MetadataError,
      'Cannot create an array at "/a": a node is there already (at /a/zarr.json in MemoryStore(1))',
    );
    assertEquals(await contentsOf(store), before);
  }
});

/** Registers an encoding of one dimension for a test, given its keys. */
function register(
  name: string,
  encode: (index: number) => string,
  count = 9,
): string {
  registerChunkKeyEncoding(name, () => {
    const encoding: ChunkKeyEncoding = {
      name,
      encode: ([index]) => encode(index!),
      decode(key) {
        for (let index = 0; index < count; index++) {
          if (encode(index) === key) return [index];
        }
        throw new ChunkKeyError(key, "is not one of these");
      },
      toJSON: () => ({ name }),
    };
    return encoding;
  });
  return name;
}

const ONE_DIMENSION = {
  shape: [40],
  chunk_grid: { name: "regular", configuration: { chunk_shape: [10] } },
};

Deno.test("ArrayChunks refuses keys of a registered encoding outside the array's folder", async () => {
  await assertRefused(
    {
      ...ONE_DIMENSION,
      chunk_key_encoding: register("test.outside", (index) => `../${index}`),
    },
    'The chunk key "../0" holds the segment ".."',
    "/chunk_key_encoding",
  );
  const late = register(
    "test.outside-later",
    (index) => index > 2 ? `../${index}` : `${index}`,
  );
  const { store, log } = logged(new MemoryStore());
  const chunks = await createArrayChunks(
    store,
    "a",
    arrayMetadata({
      ...ONE_DIMENSION,
      chunk_key_encoding: late,
    }),
  );
  log.length = 0;
  await assertRejects(
    () => chunks.get([3]),
    RangeError,
    'Key "/a/../3" holds the segment ".."',
  );
  assertEquals(log, []);
});
