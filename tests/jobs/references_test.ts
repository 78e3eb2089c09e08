import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertRejects,
  assertThrows,
} from "@std/assert";
import * as zarr from "zarrita";
import { convert, references, type ReferencesOptions } from "../../jobs.ts";
import {
  type ArrayMetadata,
  createArrayChunks,
  DamageError,
  MemoryStore,
  MetadataError,
  MissingPartError,
} from "../../mod.ts";
import { adoptTiffs } from "../../tiff.ts";
import { zipContainer } from "../../zip.ts";
import { registerCodecs, setSharded, withZarrParts } from "../../zarrita.ts";
import { runCli } from "../cli/run_cli.ts";
import { inTempDir } from "../stores/temp_dir.ts";

registerCodecs(zarr.registry);

const PREFIX = "memory://";
const BYTES = { name: "bytes", configuration: { endian: "little" } };
const CRC32C = { name: "crc32c" };

function sharded(
  chunk_shape: number[],
  codecs: unknown[],
  index_location = "end",
) {
  const index_codecs = [BYTES, CRC32C];
  const configuration = { chunk_shape, codecs, index_codecs, index_location };
  return { name: "sharding_indexed", configuration };
}

function inParts(...parts: { key_suffix: string; size?: number }[]) {
  return [{ name: "concat-parts", configuration: { parts } }];
}

const INDEX = inParts({ key_suffix: "" }, {
  key_suffix: ".index",
  size: 16 * 6 + 4,
});

/** Arrays of 7 × 10 elements, by what is unusual about them. Those that zarr-python alone writes, such as nested shards, are in `python/tests/`. */
const ARRAYS: Record<string, Partial<Record<keyof ArrayMetadata, unknown>>> = {
  "one object": {},
  "an index of its own": { storage_transformers: INDEX },
  "an index at the start": {
    codecs: [sharded([2, 2], [BYTES], "start")],
    storage_transformers: inParts({ key_suffix: ".i", size: 100 }, {
      key_suffix: "",
    }),
  },
  "inner chunks across parts": {
    storage_transformers: inParts({ key_suffix: ".head", size: 3 }, {
      key_suffix: "",
    }),
  },
  "chunks in parts": {
    codecs: [BYTES, CRC32C],
    storage_transformers: inParts({ key_suffix: "" }, {
      key_suffix: ".crc32c",
      size: 4,
    }),
  },
};

/** An array in a store, with one shard that is absent. */
async function makeArray(
  members: (typeof ARRAYS)[string],
): Promise<{ store: MemoryStore; data: Int16Array }> {
  const store = new MemoryStore();
  const metadata = {
    zarr_format: 3,
    node_type: "array",
    shape: [7, 10],
    data_type: "int16",
    chunk_grid: { name: "regular", configuration: { chunk_shape: [4, 6] } },
    chunk_key_encoding: { name: "suffix", configuration: { suffix: ".s" } },
    codecs: [sharded([2, 2], [BYTES])],
    fill_value: 0,
    ...members,
  } as unknown as ArrayMetadata;
  await createArrayChunks(store, "a", metadata);
  const data = Int16Array.from(
    { length: 70 },
    (_, i) => i % 10 < 6 || i < 40 ? i + 1 : 0,
  );
  const array = await zarr.open(
    zarr.root(withZarrParts(store)).resolve("a"),
    { kind: "array" },
  );
  await setSharded(zarr, array, null, data);
  return { store, data };
}

/** Reads references from the store that they lead to, and returns a store of plain chunks. */
async function resolved(
  store: MemoryStore,
  options: Partial<ReferencesOptions> = {},
): Promise<MemoryStore> {
  const stream = references({ store, path: "a" }, {
    urlPrefix: PREFIX,
    ...options,
  });
  const { version, refs } = await new Response(stream).json();
  assertEquals(version, 1);
  const plain = new MemoryStore();
  for (const [key, reference] of Object.entries<unknown>(refs)) {
    if (typeof reference === "string") {
      const bytes = reference.startsWith("base64:")
        ? Uint8Array.from(atob(reference.slice(7)), (c) => c.charCodeAt(0))
        : new TextEncoder().encode(reference);
      await plain.set(`/${key}`, bytes);
    } else {
      const [url, offset, length] = reference as [string, number, number];
      const value = await store.get(`/${url.slice(PREFIX.length)}`);
      await plain.set(`/${key}`, value!.slice(offset, offset + length));
    }
  }
  return plain;
}

for (const [name, members] of Object.entries(ARRAYS)) {
  Deno.test(`references lead to all elements of ${name}`, async () => {
    const { store, data } = await makeArray(members);
    const plain = await resolved(store);
    const array = await zarr.open(zarr.root(plain), { kind: "array" });
    assertEquals((await zarr.get(array)).data, data);
    const grid = array.shape.map((n, i) => Math.ceil(n / array.chunks[i]!));
    for await (const key of plain.list()) {
      if (key === "/zarr.json") continue;
      const coordinates = key.split("/").slice(2).map(Number);
      assertEquals(coordinates.every((c, i) => c < grid[i]!), true, key);
    }
  });
}

Deno.test("references refuse what cannot be referred to, and damage", async () => {
  const { store } = await makeArray(ARRAYS["chunks in parts"]!);
  await assertRejects(
    () => resolved(store, { inlineLimit: 51 }),
    RangeError,
    "convert --plain",
  );
  await store.delete("/a/c/0/0.s.crc32c");
  await assertRejects(() => resolved(store), MissingPartError);
  const { store: damaged } = await makeArray(ARRAYS["an index of its own"]!);
  await damaged.set("/a/c/0/0.s.index", new Uint8Array(100));
  await assertRejects(() => resolved(damaged), DamageError);
  const { store: gzipped } = await makeArray({});
  const bytes = await gzipped.get("/a/zarr.json");
  const document = JSON.parse(new TextDecoder().decode(bytes));
  document.codecs = [sharded([2, 2], [BYTES]), {
    name: "gzip",
    configuration: { level: 1 },
  }];
  await gzipped.set(
    "/a/zarr.json",
    new TextEncoder().encode(JSON.stringify(document)),
  );
  await assertRejects(() => resolved(gzipped), MetadataError, '"gzip"');
  assertThrows(
    () => references(store, {} as ReferencesOptions),
    TypeError,
    "urlPrefix",
  );
});

/** Arrays of the files of other programs, in the folder `a`. */
const FILES: Record<string, () => Promise<MemoryStore>> = {
  "adopted TIFFs": async () => {
    const store = new MemoryStore();
    for (const name of ["row0_column0.tif", "row0_column1.tif"]) {
      const bytes = await Deno.readFile(`tests/fixtures/tiffs/${name}`);
      await store.set(`/a/${name}`, bytes);
    }
    const format = "row{0}_column{1}.tif";
    const configuration = { format };
    const chunkKeyEncoding = { name: "template", configuration };
    await adoptTiffs(store, "a", { chunkKeyEncoding });
    return store;
  },
  "zips": async () => {
    const { store } = await makeArray(ARRAYS["one object"]!);
    const target = new MemoryStore();
    await convert({ store, path: "a" }, { store: target, path: "a" }, {
      suffix: ".zip",
      parts: ["", ".index"],
      container: (metadata) => zipContainer(metadata),
    });
    return target;
  },
};

for (
  const [name, make] of [
    ...Object.entries(FILES),
    // The codecs of chunks that are no shards find other lengths.
    ...Object.entries(ARRAYS).filter(([name]) => name !== "chunks in parts")
      .map(([name, members]) =>
        [name, async () => (await makeArray(members)).store] as const
      ),
  ]
) {
  Deno.test(`references to damaged objects of ${name} fail, or lead to the same bytes`, async () => {
    const store = await make();
    const expected = await bytesOf(await resolved(store));
    const keys = (await Array.fromAsync(store.list()))
      .filter((key) => !key.endsWith("zarr.json"));
    const isOneObject = name === "one object";
    let failures = 0;
    for (const key of keys) {
      const bytes = (await store.get(key))!;
      const longer = new Uint8Array(bytes.length + 3);
      longer.set(bytes);
      const half = bytes.slice(0, bytes.length / 2);
      for (const change of [undefined, half, bytes.slice(0, -1), longer]) {
        if (change === undefined && isOneObject) continue; // An absent shard.
        if (change === undefined) await store.delete(key);
        else await store.set(key, change);
        let found;
        try {
          found = await bytesOf(await resolved(store));
        } catch (error) {
          assertInstanceOf(error, DamageError, key);
          failures++;
        }
        if (found !== undefined) assertEquals(found, expected, key);
      }
      await store.set(key, bytes);
    }
    assert(failures >= keys.length * 2, `${failures} of ${keys.length * 4}`);
  });
}

async function bytesOf(
  store: MemoryStore,
): Promise<Record<string, Uint8Array | undefined>> {
  const keys = (await Array.fromAsync(store.list())).sort();
  return Object.fromEntries(
    await Promise.all(
      keys.map(async (key) => [key, await store.get(key)] as const),
    ),
  );
}

Deno.test("zarr-parts references writes a file, and says how to open it", () =>
  inTempDir(async (folder) => {
    const file = `${folder}/new/refs.json`;
    const source = "tests/fixtures/dem.zarr";
    const { code, out } = await runCli("references", source, "-o", file);
    assertEquals(code, 0);
    assertEquals(out.includes('ZARR:"/vsikerchunk_json_ref/'), true);
    const { refs } = JSON.parse(await Deno.readTextFile(file));
    assertEquals(refs["c/0/0"][0].startsWith("file:///"), true);
    const prefix = ["--url-prefix", "https://example.com/a/"];
    const json = await runCli(
      ...["references", source, "-o", file, "--json", ...prefix],
    );
    assertEquals(JSON.parse(json.out).urlPrefix, "https://example.com/a/");
    const none = await runCli("references", source);
    assertEquals([none.code, none.err.includes("-o FILE")], [2, true]);
  }));
