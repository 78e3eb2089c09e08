import { assert, assertEquals, assertRejects } from "@std/assert";
import { convert, type ConvertOptions, verify } from "../../jobs.ts";
import {
  type ArrayChunks,
  arrayMetadata,
  ChecksumError,
  createArrayChunks,
  encodeShard,
  MemoryStore,
  openArrayChunks,
  parseShardLayout,
  readInnerChunk,
  type ShardContainer,
} from "../../mod.ts";
import { tiffContainer } from "../../tiff.ts";
import { zipContainer } from "../../zip.ts";
import { contentsOf, countingBytes } from "../support/bytes.ts";
import { encodeJson, groupMetadata } from "../support/documents.ts";
import { checksummed, checksummedMetadata, STORED } from "./checksummed.ts";

/** An array of 2 × 2 shards of 2 × 2 inner chunks, some of which are absent. */
async function picture(): Promise<MemoryStore> {
  const store = new MemoryStore();
  const metadata = arrayMetadata({
    shape: [120, 128],
    dataType: "uint8",
    shardShape: [64, 64],
    chunkShape: [32, 32],
  });
  const chunks = await createArrayChunks(store, "", metadata);
  const layout = parseShardLayout(metadata.codecs[0], chunks.chunkShape);
  for (const [i, shard] of [[0, 0], [0, 1], [1, 1]].entries()) {
    const inner = [0, 1, 2, 3].map((place) =>
      place === i ? undefined : countingBytes(1024, 10 * i + place)
    );
    await chunks.set(shard, encodeShard(inner, layout));
  }
  return store;
}

/** All inner chunks of an array, by shard and place. */
async function innerChunksOf(
  chunks: ArrayChunks,
): Promise<Record<string, number[] | undefined>> {
  const layout = parseShardLayout(chunks.metadata.codecs[0], chunks.chunkShape);
  const found: Record<string, number[] | undefined> = {};
  const [rows, columns] = layout.chunksPerShard as [number, number];
  for await (const shard of chunks.list()) {
    const { codecs } = chunks.metadata;
    const end = (await chunks.size(shard))! - 4 * (codecs.length - 1);
    for (let place = 0; place < rows * columns; place++) {
      const bytes = await readInnerChunk(
        (range) =>
          chunks.getRange(
            shard,
            "offset" in range ? range : {
              offset: end - range.suffixLength,
              length: range.suffixLength,
            },
          ),
        layout,
        [Math.floor(place / columns), place % columns],
      );
      found[`${shard} ${place}`] = bytes && Array.from(bytes);
    }
  }
  return found;
}

for (
  const [name, container, magic] of [
    ["TIFF", tiffContainer, [0x49, 0x49]],
    ["zip", zipContainer, [0x50, 0x4b]],
  ] as const
) {
  const options: ConvertOptions = {
    suffix: ".x",
    parts: ["", ".index"],
    container: (metadata) => container(metadata),
  };

  Deno.test(`convert makes each shard a ${name} file, with the same inner chunks`, async () => {
    const stored = await picture();
    const target = new MemoryStore();
    await convert(stored, target, options);
    const [source, chunks] = await Promise.all(
      [stored, target].map((store) => openArrayChunks(store)),
    );
    assertEquals(await innerChunksOf(chunks!), await innerChunksOf(source!));
    const file = (await target.get("/c/1/1.x"))!;
    assertEquals([...file.subarray(0, 2)], [...magic]);
    const { findings } = await verify(target, "", { deep: true });
    assertEquals(findings, []);

    // The inner chunks of the files become plain shards again.
    const plain = new MemoryStore();
    await convert(target, plain, { plain: true, container: () => () => ({}) });
    assertEquals(
      await innerChunksOf(await openArrayChunks(plain)),
      await innerChunksOf(source!),
    );
  });

  Deno.test(`convert continues ${name} files, and makes them in shares`, async () => {
    const stored = await picture();
    const expected = new MemoryStore();
    await convert(stored, expected, options);
    const target = new MemoryStore();
    for (const index of [1, 0]) {
      await convert(stored, target, { ...options, share: { index, count: 2 } });
    }
    await target.delete("/c/0/0.x");
    // Without a container, the target would be another one.
    const { container: _, ...without } = options;
    await assertRejects(
      () => convert(stored, target, { ...without, resume: true }),
      Error,
      "with another layout",
    );
    const { copied, skipped } = await convert(stored, target, {
      ...options,
      resume: true,
    });
    assertEquals([copied, skipped], [1, 2]);
    assertEquals(await contentsOf(target), await contentsOf(expected));
  });
}

/** A container whose head tells the coordinates of the shard. */
const NAMED = (shard: readonly number[]): ShardContainer => ({
  head: () => Uint8Array.of(7, ...shard),
});

Deno.test("convert puts containers around shards with checksums behind them", async () => {
  const source = new MemoryStore();
  await checksummed(source, 40);
  const target = new MemoryStore();
  await convert(source, target, { container: () => NAMED });
  const { findings } = await verify(target, "", { deep: true });
  // The codec of the inner chunks is unknown.
  assertEquals(findings.map(({ rule }) => rule), ["chunk-undecoded"]);
  const chunks = await openArrayChunks(target);
  for (const coordinates of STORED) {
    const head = await chunks.getRange(coordinates, { offset: 0, length: 3 });
    assertEquals(head, Uint8Array.of(7, ...coordinates));
  }
  assertEquals(
    await innerChunksOf(chunks),
    await innerChunksOf(await openArrayChunks(source)),
  );
});

Deno.test("convert refuses damaged shards, in place of putting a container around them", async () => {
  for (const place of [5, -2, -20]) {
    const source = new MemoryStore();
    await checksummed(source, 40);
    const bytes = (await source.get("/c/1/2"))!;
    bytes[place < 0 ? bytes.length + place : place]! ^= 1;
    await source.set("/c/1/2", bytes);
    const target = new MemoryStore();
    await assertRejects(
      () => convert(source, target, { container: () => NAMED }),
      ChecksumError,
      "/c/1/2",
    );
    assertEquals(await target.get("/c/1/2"), undefined);
  }
});

Deno.test("convert refuses containers for arrays without shards or with an index at the start, and writes nothing", async () => {
  const source = new MemoryStore();
  await createArrayChunks(
    source,
    "a",
    arrayMetadata({ shape: [4], dataType: "uint8", chunkShape: [2] }),
  );
  await checksummed(source, 40, "b", checksummedMetadata("start"));
  for (
    const [path, message] of [
      ["a", "found an array without shards"],
      ["b", "index at the end"],
    ] as const
  ) {
    const target = new MemoryStore();
    await assertRejects(
      () =>
        convert({ store: source, path }, target, { container: () => NAMED }),
      RangeError,
      message,
    );
    assertEquals(await contentsOf(target), {});
  }
  // A function chooses the arrays of a group.
  await checksummed(source, 40, "c");
  await source.set("/zarr.json", encodeJson(groupMetadata()));
  const target = new MemoryStore();
  await convert(source, target, {
    container: (_, path) => path === "c" ? NAMED : undefined,
  });
  assertEquals((await target.get("/c/c/1/2"))![0], 7);
  assert(await target.get("/b/c/1/2"));
});

Deno.test("convert leaves arrays as they are for which the option where says no", async () => {
  const source = new MemoryStore([["/zarr.json", encodeJson(groupMetadata())]]);
  await checksummed(source, 9, "a");
  await checksummed(source, 9, "b");
  const asked: string[] = [];
  const options: ConvertOptions = {
    suffix: ".s",
    parts: ["", ".index", ".crc32c"],
    container: () => NAMED,
    where({ attributes }, path) {
      asked.push(`${path} ${attributes?.scale}`);
      return path === "b";
    },
  };
  const target = new MemoryStore();
  await convert(source, target, options);
  assertEquals(new Set(asked), new Set(["a 0.5", "b 0.5"]));
  const [before, after] = await Promise.all([source, target].map(contentsOf));
  const keysOfA = Object.keys(before!).filter((key) => key.startsWith("/a/"));
  for (const key of keysOfA) assertEquals(after![key], before![key], key);
  const keysOfB = STORED.flatMap(([i, j]) =>
    ["", ".index", ".crc32c"].map((part) => `/b/c/${i}/${j}.s${part}`)
  );
  assertEquals(
    Object.keys(after!),
    ["/zarr.json", "/b/zarr.json", ...keysOfA, ...keysOfB].sort(),
  );
});

Deno.test("convert tells a container the place of the array in the source, and waits for it", async () => {
  const stored = await picture();
  const source = new MemoryStore([[
    "/g/zarr.json",
    encodeJson(groupMetadata()),
  ]]);
  for await (const key of stored.list()) {
    await source.set(`/g/a${key}`, (await stored.get(key))!);
  }
  const told: unknown[] = [];
  const target = new MemoryStore();
  await convert({ store: source, path: "g" }, target, {
    parts: ["", ".index"],
    container: async (metadata, path, place) => {
      const { metadata: before } = await openArrayChunks(
        place.store,
        place.path,
      );
      told.push([path, place.path, before.storage_transformers]);
      return tiffContainer(metadata);
    },
  });
  assertEquals(told, [["a", "g/a", undefined]]);
  assertEquals((await target.get("/a/c/0/0"))?.[0], 0x49);

  const refused = await assertRejects(
    () =>
      convert({ store: source, path: "g" }, new MemoryStore(), {
        container: () => Promise.reject(new RangeError("Expected a picture")),
      }),
    RangeError,
  );
  assertEquals(refused.message, 'Expected a picture (array "/a")');
});
