import { assert, assertEquals } from "@std/assert";
import {
  arrayMetadata,
  createArrayChunks,
  encodeShard,
  MemoryStore,
  parseShardLayout,
} from "../../mod.ts";
import { type Finding, verify } from "../../jobs.ts";
import { tiffContainer, type TiffOptions } from "../../tiff.ts";

/** Creates an array whose shard [0, 1] is a TIFF, and returns the key of the file. */
async function written(
  options: TiffOptions,
  codecs: string[],
  parts?: string[],
) {
  const shape = [3, 40, 60];
  const isLast = options.bands === "last";
  const shardShape = isLast ? [32, 32, 3] : [3, 32, 32];
  const chunkShape = isLast ? [16, 16, 3] : [1, 16, 16];
  const metadata = arrayMetadata({
    shape: isLast ? [...shape.slice(1), 3] : shape,
    dataType: "uint16",
    shardShape,
    chunkShape,
    codecs,
    suffix: ".tif",
    ...parts && { parts },
  });
  const store = new MemoryStore();
  const chunks = await createArrayChunks(store, "", metadata);
  const layout = parseShardLayout(metadata.codecs[0], shardShape);
  const coordinates = isLast ? [0, 1, 0] : [0, 0, 1];
  const container = tiffContainer(metadata, options)(coordinates);
  const count = layout.chunksPerShard.reduce((product, n) => product * n, 1);
  const tiles = Array.from(
    { length: count },
    (_, i) =>
      i === 1 ? undefined : new Uint8Array(isLast ? 1536 : 512).fill(i, 0, 512),
  );
  await chunks.set(coordinates, encodeShard(tiles, layout, { container }));
  return { store, key: chunks.key(coordinates) as `/${string}` };
}

async function rulesOf(store: MemoryStore): Promise<string[]> {
  const rules: Finding["rule"][] = [];
  const onFinding = ({ rule }: Finding) => void rules.push(rule);
  await verify(store, "", { deep: true, onFinding });
  return rules;
}

/** The tags of which others than the right values are always damage: sizes, bits and places. */
const TAGS = [256, 257, 258, 322, 323, 324, 325];

const FORMS: [string, TiffOptions, string[]?][] = [
  ["pages", {}],
  ["pages, with the index beside the file", {}, ["", ".index"]],
  ["directories at the end", { directory: "end" }, ["", ".index"]],
  ["planes", { bands: "first" }],
  ["bands of one page", { bands: "last" }, ["", ".index"]],
  ["BigTIFF of sparse tiles", { bigTiff: true, sparse: true }],
];

Deno.test("verify finds the damage in the directories of TIFFs that tiffContainer wrote", async (t) => {
  for (const [name, options, parts] of FORMS) {
    await t.step(name, async () => {
      const { store, key } = await written(options, [], parts);
      assertEquals(await rulesOf(store), []);
      const bytes = (await store.get(key))!;
      const view = new DataView(bytes.buffer, bytes.byteOffset);
      for (let at = 0; at < 4; at++) {
        await store.set(key, bytes.with(at, bytes[at]! ^ 1));
        assert((await rulesOf(store)).includes("shard-file"), `header, ${at}`);
      }
      const first = options.bigTiff
        ? Number(view.getBigUint64(8, true))
        : view.getUint32(4, true);
      const count = view.getUint16(first, true);
      const [head, entry] = options.bigTiff ? [8, 20] : [2, 12];
      for (let i = 0; i < count; i++) {
        const at = first + head + i * entry;
        const tag = view.getUint16(at, true);
        if (!TAGS.includes(tag)) continue;
        for (const place of [at, at + 2, at + (options.bigTiff ? 12 : 8)]) {
          const changed = bytes.slice();
          changed[place]! ^= 0x44;
          await store.set(key, changed);
          const rules = await rulesOf(store);
          assert(rules.includes("shard-file"), `${tag}, ${place - at}`);
        }
      }
    });
  }
});

Deno.test("verify finds bytes that were inserted into a TIFF that tiffContainer wrote", async () => {
  for (const directory of ["start", "end"] as const) {
    const { store, key } = await written({ directory }, [], ["", ".index"]);
    const bytes = (await store.get(key))!;
    for (const at of [9, bytes.length - 700]) {
      const longer = new Uint8Array(bytes.length + 2);
      longer.set(bytes.subarray(0, at));
      longer.set(bytes.subarray(at), at + 2);
      await store.set(key, longer);
      const rules = await rulesOf(store);
      assert(rules.includes("shard-file"), `${directory}, ${at}`);
    }
  }
});
