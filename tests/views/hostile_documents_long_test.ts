import { assert, assertEquals } from "@std/assert";
import {
  type ArrayMetadata,
  createArrayChunks,
  MemoryStore,
  MetadataError,
  openArrayChunks,
  plainView,
  type Store,
} from "../../mod.ts";
import { withZarrParts } from "../../zarrita.ts";
import { encodeJson, utf8 } from "../support/documents.ts";
import { arrayMetadata, concatParts } from "../support/metadata.ts";

const LONG = "x".repeat(1_000_000);
const MANY = 30_000;

/** Nests a value many times. */
function nested<T>(depth: number, innermost: T, around: (inner: T) => T): T {
  let value = innermost;
  for (let i = 0; i < depth; i++) value = around(value);
  return value;
}

function repeated<T>(value: T): T[] {
  return new Array(MANY).fill(value);
}

function grid(chunk_shape: number[]) {
  return { name: "regular", configuration: { chunk_shape } };
}

function suffix(suffix: string, base_encoding: unknown = "default"): unknown {
  return { name: "suffix", configuration: { suffix, base_encoding } };
}

function sharding(codecs: unknown, chunk_shape: number[] = [2, 2]): unknown {
  const index_codecs = [
    { name: "bytes", configuration: { endian: "little" } },
    { name: "crc32c" },
  ];
  const configuration = { chunk_shape, codecs, index_codecs };
  return { name: "sharding_indexed", configuration };
}

const part = (key_suffix: string, size?: number) =>
  size === undefined ? { key_suffix } : { key_suffix, size };

/** Metadata of an array with the text of a JSON value as its attributes. */
function withAttributes(json: string): string {
  const text = JSON.stringify(arrayMetadata({ attributes: "@" }));
  return text.replace('"@"', json);
}

const transformers = (...storage_transformers: unknown[]) =>
  arrayMetadata({ storage_transformers });

const HOSTILE: Readonly<Record<string, unknown>> = {
  "thousands of transformers": transformers(
    ...repeated(concatParts(part(""))),
  ),
  "thousands of unknown transformers": transformers(
    ...repeated({ name: LONG.slice(0, 99) }),
  ),
  "thousands of skipped transformers": transformers(
    ...repeated({ name: "x", must_understand: false }),
  ),
  "thousands of parts": transformers(
    concatParts(
      part(""),
      part(".a", 1),
      ...Array.from({ length: 9000 }, (_, i) => part(`.${i}`, 1)),
    ),
  ),
  "parts that end in one another": transformers(
    concatParts(
      ...Array.from({ length: 256 }, (_, i) => part("7".repeat(4 * i + 1), 1)),
    ),
  ),
  "transformers that multiply parts": transformers(
    ...new Array(30).fill(concatParts(part("a"), part("b", 1))),
  ),
  "a key suffix of a million characters": transformers(
    concatParts(part(`.${LONG}`)),
  ),
  "a suffix of a million characters": arrayMetadata({
    chunk_key_encoding: suffix(`.${LONG}`),
  }),
  "a suffix of a million segments": arrayMetadata({
    chunk_key_encoding: suffix(LONG.replaceAll("x", "x/")),
  }),
  "suffixes in suffixes": arrayMetadata({
    chunk_key_encoding: nested(
      100,
      "default" as unknown,
      (base) => suffix("a", base),
    ),
  }),
  "a member of a million characters": arrayMetadata({
    [LONG.replaceAll("x", "~/")]: 1,
  }),
  "thousands of members": arrayMetadata(
    Object.fromEntries(
      Array.from({ length: MANY }, (_, i) => [`member${i}`, i]),
    ),
  ),
  "an encoding with a name of a million characters": arrayMetadata({
    chunk_key_encoding: LONG,
  }),
  "a grid with a name of a million characters": arrayMetadata({
    chunk_grid: { name: LONG },
  }),
  "a transformer with a name of a million characters": transformers({
    name: LONG,
  }),
  "thousands of dimensions": arrayMetadata({
    shape: repeated(1),
    chunk_grid: grid(repeated(1)),
  }),
  "257 dimensions": arrayMetadata({
    shape: new Array(257).fill(1),
    chunk_grid: grid(new Array(257).fill(1)),
  }),
  "a shard with more inner chunks than numbers": arrayMetadata({
    shape: [2 ** 50, 2 ** 50],
    chunk_grid: grid([2 ** 50, 2 ** 50]),
    codecs: [sharding(["bytes"])],
  }),
  "a shard with a billion inner chunks": arrayMetadata({
    chunk_grid: grid([2 ** 16, 2 ** 16]),
    codecs: [sharding(["bytes"])],
  }),
  "shards in shards": arrayMetadata({
    codecs: [
      nested(1000, sharding(["bytes"]), (inner) => sharding([inner])),
    ],
  }),
  "thousands of codecs around shards": arrayMetadata({
    codecs: [sharding(["bytes"]), ...repeated({ name: "crc32c" })],
  }),
  "deep attributes": withAttributes("[".repeat(600) + "]".repeat(600)),
  "attributes of a million brackets": withAttributes("[".repeat(1_000_000)),
  "groups in groups": nested(
    1000,
    arrayMetadata() as unknown,
    (node) => ({
      zarr_format: 3,
      node_type: "group",
      consolidated_metadata: { metadata: { a: node } },
    }),
  ),
  "a fill value of a million digits": withAttributes("{}").replace(
    '"fill_value":0',
    `"fill_value":${"9".repeat(1_000_000)}`,
  ),
  "no members": {},
  "null": "null",
  "nothing": "",
  "no JSON": "<html>",
  "a null transformer": transformers(null),
  "sharding without a configuration": arrayMetadata({
    codecs: ["sharding_indexed"],
  }),
  "sharding of numbers": arrayMetadata({ codecs: [sharding(7)] }),
};

/** Documents that cost little, and that are read. */
const BIG: Readonly<Record<string, unknown>> = {
  "a number of a million digits": withAttributes(
    `{"n":${"9".repeat(1_000_000)}}`,
  ),
  "an array of 2^53−1 elements along each dimension": arrayMetadata({
    shape: new Array(256).fill(2 ** 53 - 1),
    chunk_grid: grid(new Array(256).fill(1)),
  }),
  "suffixes of the greatest length": arrayMetadata({
    chunk_key_encoding: suffix("x".repeat(1024)),
    storage_transformers: [concatParts(part("y".repeat(1024)))],
  }),
  "thousands of numbers in another spelling": withAttributes(
    `{"n":[${repeated("1.0")}]}`,
  ),
};

/** A store with an array of a hostile document between two arrays. */
function storeWith(document: unknown): MemoryStore {
  const good = encodeJson(arrayMetadata());
  const chunk = new Uint8Array(16);
  return new MemoryStore([
    ["/a/zarr.json", good],
    ["/a/c/0/0", chunk],
    [
      "/bad/zarr.json",
      typeof document === "string" ? utf8(document) : encodeJson(document),
    ],
    ["/z/zarr.json", good],
    ["/z/c/2/1", chunk],
  ]);
}

/** Asserts that an action succeeds, or fails by a `MetadataError` with a message to read. */
async function assertHarmless(act: () => Promise<unknown>): Promise<boolean> {
  try {
    await act();
    return true;
  } catch (error) {
    assert(error instanceof MetadataError, String(error).slice(0, 500));
    const { length } = error.message;
    assert(length < 1200, `${length} characters: ${error.message}`);
    return false;
  }
}

const VIEWS: Readonly<Record<string, (store: MemoryStore) => Store>> = {
  plainView,
  withZarrParts: (store) => withZarrParts(store),
};

for (const [name, view] of Object.entries(VIEWS)) {
  Deno.test(`${name} lists the other arrays of a store beside a hostile document, and refuses that with MetadataError`, async (t) => {
    for (const [title, document] of Object.entries({ ...HOSTILE, ...BIG })) {
      await t.step(title, async () => {
        const store = storeWith(document);
        const shown = view(store);
        for (const prefix of ["/", "/a", "/z/", "/b"] as const) {
          const expected = (await Array.fromAsync(store.list()))
            .filter((key) => key.startsWith(prefix));
          const keys = await Array.fromAsync(shown.list!(prefix));
          assertEquals(keys.sort(), expected.sort());
        }
        assertEquals((await shown.get("/z/c/2/1"))?.length, 16);
        await assertHarmless(() => shown.get("/bad/zarr.json"));
        await assertHarmless(() => shown.get("/bad/c/0/0"));
        const bytes = (await store.get("/bad/zarr.json"))!;
        await assertHarmless(() => shown.set!("/bad/zarr.json", bytes));
      });
    }
  });
}

Deno.test("openArrayChunks and createArrayChunks refuse hostile documents with MetadataError", async (t) => {
  const isRead = [
    "thousands of skipped transformers",
    "a shard with a billion inner chunks",
    "thousands of codecs around shards",
  ];
  for (const [title, document] of Object.entries(HOSTILE)) {
    await t.step(title, async () => {
      const store = storeWith(document);
      const isOpened = await assertHarmless(() =>
        openArrayChunks(store, "bad")
      );
      assertEquals(isOpened, isRead.includes(title));
      if (typeof document === "string") return;
      const metadata = document as ArrayMetadata;
      await assertHarmless(() =>
        createArrayChunks(new MemoryStore(), "a", metadata)
      );
    });
  }
  for (const [title, document] of Object.entries(BIG)) {
    await t.step(title, async () => {
      const chunks = await openArrayChunks(storeWith(document), "bad");
      const first = chunks.gridShape.map(() => 0);
      assertEquals(await chunks.get(first), undefined);
      assertEquals(await Array.fromAsync(chunks.list()), []);
    });
  }
});
