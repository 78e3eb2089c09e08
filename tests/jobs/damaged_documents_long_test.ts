/**
 * Removes and replaces each member of valid documents. Whatever reads a document refuses it
 * by the same `MetadataError` with the place, or reads the right elements.
 */
import { assert, assertEquals } from "@std/assert";
import * as zarr from "zarrita";
import { convert, inspect, verify } from "../../jobs.ts";
import {
  createArrayChunks,
  MemoryStore,
  MetadataError,
  openArrayChunks,
} from "../../mod.ts";
import { createHandler } from "../../serve.ts";
import { registerCodecs, withZarrParts } from "../../zarrita.ts";
import { encodeJson, groupMetadata, utf8 } from "../support/documents.ts";

registerCodecs(zarr);

const LITTLE = { name: "bytes", configuration: { endian: "little" } };
const COMMON = {
  zarr_format: 3,
  node_type: "array",
  shape: [4, 6],
  data_type: "int16",
  chunk_grid: { name: "regular", configuration: { chunk_shape: [4, 4] } },
  fill_value: -2,
  attributes: { a: 1 },
  dimension_names: ["y", null],
} as const;
const ARRAYS = {
  "plain": {
    ...COMMON,
    chunk_key_encoding: {
      name: "default",
      configuration: { separator: "/" },
    },
    codecs: [
      { name: "transpose", configuration: { order: [1, 0] } },
      LITTLE,
      { name: "gzip", configuration: { level: 1 } },
    ],
    storage_transformers: [],
  },
  "in shards and parts": {
    ...COMMON,
    chunk_key_encoding: {
      name: "suffix",
      configuration: {
        suffix: ".bin",
        base_encoding: { name: "v2", configuration: { separator: "." } },
      },
    },
    codecs: [{
      name: "sharding_indexed",
      configuration: {
        chunk_shape: [2, 2],
        codecs: [LITTLE, { name: "crc32c" }],
        index_codecs: [LITTLE, { name: "crc32c" }],
        index_location: "end",
      },
    }],
    storage_transformers: [{
      name: "concat-parts",
      configuration: {
        parts: [{ key_suffix: "" }, { key_suffix: ".index", size: 68 }],
      },
    }],
  },
};

/** What may be in the place of any value; texts are JSON that `JSON.stringify` does not write. */
const OTHERS: unknown[] = [
  ...[null, true, 0, -1, 0.5, 7, "x", "", [], [0], {}, { name: "x" }],
  { raw: "1e400" },
  { raw: "NaN" },
  { raw: "18446744073709551616" },
];

type Path = readonly (string | number)[];

/** The places of all values in a document. */
function* placesIn(value: unknown, path: Path = []): Generator<Path> {
  if (typeof value !== "object" || value === null) return;
  for (const name of Object.keys(value)) {
    const inner = [...path, Array.isArray(value) ? Number(name) : name];
    yield inner;
    yield* placesIn((value as Record<string, unknown>)[name], inner);
  }
}

/** A document as JSON with another value at a place, or without the place. */
function damaged(document: unknown, path: Path, other: unknown): string {
  const copy = structuredClone(document) as Record<string | number, unknown>;
  let value = copy;
  for (const name of path.slice(0, -1)) value = value[name] as typeof copy;
  const last = path.at(-1)!;
  const raw = (other as { raw?: string } | null)?.raw;
  if (other !== undefined) value[last] = raw === undefined ? other : "RAW";
  else if (Array.isArray(value)) value.splice(Number(last), 1);
  else delete value[last];
  return JSON.stringify(copy).replace('"RAW"', raw ?? '"RAW"');
}

/** A result of reading: a text of what was read, or the error. */
type Outcome = string | MetadataError;

async function outcomeOf(read: () => Promise<string>): Promise<Outcome> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof MetadataError) return error;
    return `${error}\n${(error as Error).stack}`;
  }
}

async function elements(store: MemoryStore): Promise<string> {
  const array = await zarr.open(withZarrParts(store), { kind: "array" });
  const { data, shape, stride } = await zarr.get(array);
  const [height, width] = shape as [number, number];
  const [down, right] = stride as [number, number];
  const values = Array.from(
    { length: height * width },
    (_, i) =>
      (data as Int16Array)[Math.floor(i / width) * down + i % width * right],
  );
  return `${shape}: ${values}`;
}

for (const [name, document] of Object.entries(ARRAYS)) {
  Deno.test(`Damaged documents of an array ${name} are refused alike, or read right`, async () => {
    const whole = new MemoryStore();
    // deno-lint-ignore no-explicit-any -- the types of the examples are narrower
    await createArrayChunks(whole, "", document as any);
    const array = await zarr.open(withZarrParts(whole), { kind: "array" });
    // The last chunk is absent.
    const data = Int16Array.from({ length: 16 }, (_, i) => i + 1);
    await zarr.set(array as zarr.Array<"int16", typeof array.store>, [
      null,
      zarr.slice(4),
    ], {
      data,
      shape: [4, 4],
      stride: [4, 1],
    });
    const right = await elements(whole);
    assert(right.includes("1,2,3,4,-2,-2,5"), right);
    let refused = 0;
    for (const path of placesIn(document)) {
      for (const other of [undefined, ...OTHERS]) {
        const text = damaged(document, path, other);
        const hint = `${path.join("/")}: ${JSON.stringify(other)}`;
        const store = new MemoryStore();
        for await (const key of whole.list()) {
          await store.set(key, (await whole.get(key))!);
        }
        await store.set("/zarr.json", utf8(text));
        const opened = await outcomeOf(async () => {
          await openArrayChunks(store);
          return "";
        });
        const shown = await outcomeOf(() => elements(store));
        const jobs = {
          inspect: await outcomeOf(async () => {
            await inspect(store, "", { count: false });
            return "";
          }),
          convert: await outcomeOf(async () => {
            const target = new MemoryStore();
            await convert(store, target, { dryRun: true });
            return "";
          }),
        };
        const { counts } = await verify(store);
        const answer = createHandler(store, {
          form: "inner chunks",
          onError() {},
        });
        const served = await answer(new Request("http://localhost/zarr.json"));
        const body = await served.text();
        if (opened instanceof MetadataError) {
          refused++;
          assert(opened.path !== "" || path.length === 0, hint);
          assert(shown instanceof MetadataError, `${hint}: ${shown}`);
          assertEquals(shown.message, opened.message, hint);
          for (const [job, outcome] of Object.entries(jobs)) {
            assert(
              outcome instanceof MetadataError,
              `${job}, ${hint}: ${outcome}`,
            );
            assertEquals(outcome.path, opened.path, `${job}, ${hint}`);
          }
          assertEquals(counts["metadata-invalid"], 1, hint);
          assertEquals(served.status, 502, hint);
          assert(body.includes("The metadata is invalid"), body);
          continue;
        }
        assertEquals(opened, "", hint);
        assertEquals(jobs.convert, "", hint);
        // Another layout of shards does not fit the stored shard.
        const isOther = isOtherMeaning(path) &&
          /^(?:Damage|Checksum|PartSize|MissingPart)Error/.test(
            String(jobs.inspect),
          );
        if (!isOther) assertEquals(jobs.inspect, "", hint);
        assertEquals(counts["metadata-invalid"], undefined, hint);
        assertEquals(served.status, 200, hint);
        JSON.parse(body);
        assertRight(shown, right, path, hint);
      }
    }
    assert(refused > 300, String(refused));
  });
}

/** The places at which another value means other elements, keys, or what zarrita does not know. */
const OTHER_MEANING = [
  /^shape\/|^chunk_grid\/configuration\/chunk_shape\//,
  /^data_type|^fill_value$/,
  /^chunk_key_encoding/,
  /^codecs/,
  /^storage_transformers/,
];

function isOtherMeaning(path: Path): boolean {
  return OTHER_MEANING.some((each) => each.test(path.join("/")));
}

/** Asserts that elements are those of the whole document, or the document means others. */
function assertRight(
  shown: Outcome,
  right: string,
  path: Path,
  hint: string,
): void {
  if (shown === right) return;
  assert(isOtherMeaning(path), `${hint}: ${shown}`);
  if (typeof shown !== "string") return;
  // Another error is one of zarrita about what it lacks, or of chunks in another form.
  const isClear =
    /^(?:\d+,\d+: |(?:Damage|Checksum|MissingPart|PartSize|UnknownCodec|InvalidMetadata)Error: |Error: Input contains an empty iterator)/
      .test(shown);
  assert(isClear, `${hint}: ${shown}`);
}

const GROUP = {
  ...groupMetadata({ a: ARRAYS.plain }),
  attributes: { a: 1 },
};

Deno.test("Damaged documents of a group are refused alike, or its arrays are read right", async () => {
  const whole = new MemoryStore();
  // deno-lint-ignore no-explicit-any -- the types of the examples are narrower
  await createArrayChunks(whole, "a", ARRAYS.plain as any);
  const outer = [...placesIn(GROUP)].filter((path) => path.length <= 3);
  for (const path of outer) {
    for (const other of [undefined, ...OTHERS]) {
      const hint = `${path.join("/")}: ${JSON.stringify(other)}`;
      const store = new MemoryStore([
        ["/zarr.json", utf8(damaged(GROUP, path, other))],
        ["/a/zarr.json", (await whole.get("/a/zarr.json"))!],
      ]);
      const outcomes = await Promise.all([
        async () => {
          await zarr.open(withZarrParts(store), { kind: "group" });
          return "";
        },
        async () => {
          await inspect(store);
          return "";
        },
        async () => {
          await convert(store, new MemoryStore());
          return "";
        },
      ].map(outcomeOf));
      const { counts, arrays } = await verify(store);
      const isRefused = outcomes[1] instanceof MetadataError;
      for (const outcome of outcomes) {
        assert(
          isRefused ? outcome instanceof MetadataError : outcome === "",
          `${hint}: ${outcome}`,
        );
      }
      assertEquals(counts["metadata-invalid"], isRefused ? 1 : undefined, hint);
      assertEquals(arrays, 1);
      // The array is opened by its own document.
      const root = zarr.root(withZarrParts(store));
      const array = await zarr.open(root.resolve("a"), { kind: "array" });
      assertEquals(array.shape, [4, 6]);
    }
  }
});

Deno.test("withZarrParts leaves damaged documents out of consolidated metadata, so that zarrita gives the error of the node", async () => {
  const bad = { ...ARRAYS.plain, shape: "x" };
  const store = new MemoryStore([
    ["/zarr.json", encodeJson(groupMetadata({ a: bad, b: ARRAYS.plain }))],
    ["/a/zarr.json", encodeJson(bad)],
    ["/b/zarr.json", encodeJson(ARRAYS.plain)],
  ]);
  const shown = await zarr.withConsolidatedMetadata(withZarrParts(store), {
    format: "v3",
  });
  const root = zarr.root(shown);
  const b = await zarr.open(root.resolve("b"), { kind: "array" });
  assertEquals(b.shape, [4, 6]);
  const error = await zarr.open(root.resolve("a"), { kind: "array" })
    .catch((error) => error);
  assert(error instanceof MetadataError, String(error));
  assertEquals(error.path, "/shape");
});

Deno.test("inspect and verify agree on shards of impossible size", async () => {
  const sharded = (length: number) => ({
    ...ARRAYS["in shards and parts"],
    shape: [2 ** 53 - 2, 6],
    chunk_grid: {
      name: "regular",
      configuration: { chunk_shape: [length, 4] },
    },
    storage_transformers: [],
  });
  for (
    const [length, isValid] of [[2 ** 48 - 2, true], [2 ** 48, true], [
      2 ** 49,
      false,
    ], [2 ** 53 - 2, false]] as const
  ) {
    const store = new MemoryStore([
      ["/zarr.json", encodeJson(sharded(length))],
      ["/0.0.bin", new Uint8Array(100)],
    ]);
    const outcome = await inspect(store).catch((error) => error);
    const { findings } = await verify(store);
    const [found, ...others] = findings.toReversed() as [typeof findings[0]];
    const { rule, message } = found;
    // Nothing explains the shard of an array that does not open.
    if (isValid) assertEquals(others, []);
    if (isValid) {
      assertEquals(rule, "chunk-size", String(length));
      assertEquals(outcome.name, "DamageError", String(outcome));
      continue;
    }
    assertEquals(rule, "metadata-invalid");
    assert(outcome instanceof MetadataError, String(outcome));
    assertEquals(outcome.path, "/codecs/0/configuration/chunk_shape");
    assert(message.includes(outcome.problem), message);
  }
});
