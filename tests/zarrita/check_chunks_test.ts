/** Chunks without a checksum that have lost bytes, in place of which zarrita itself reads zeros. */
import { assertEquals, assertRejects } from "@std/assert";
import * as zarr from "zarrita";
import { DamageError, encodeShard, MemoryStore } from "../../mod.ts";
import { registerCodecs, withZarrParts } from "../../zarrita.ts";
import { countingBytes } from "../support/bytes.ts";
import { encodeJson } from "../support/documents.ts";
import { arrayMetadata } from "../support/metadata.ts";
import { layoutOf, shardedMetadata } from "./sharded_array.ts";

registerCodecs(zarr.registry);

/** Opens an array of one chunk of two by three elements. */
async function opened(bytes: Uint8Array, changes: Record<string, unknown>) {
  const stored = new MemoryStore([["/c/0/0", bytes]]);
  const metadata = arrayMetadata({
    shape: [2, 3],
    chunk_grid: { name: "regular", configuration: { chunk_shape: [2, 3] } },
    ...changes,
  });
  await stored.set("/zarr.json", encodeJson(metadata));
  return await zarr.open(withZarrParts(stored), { kind: "array" });
}

const LITTLE = { name: "bytes", configuration: { endian: "little" } };
const TYPES: Record<string, [size: number, changes: Record<string, unknown>]> =
  {
    uint8: [1, {}],
    bool: [1, { data_type: "bool", fill_value: false }],
    int16: [2, { data_type: "int16", codecs: [LITTLE] }],
    float64: [8, { data_type: "float64", codecs: [LITTLE] }],
    "uint32 in big endian": [4, {
      data_type: "uint32",
      codecs: [{ name: "bytes", configuration: { endian: "big" } }],
    }],
    "uint16, transposed": [2, {
      data_type: "uint16",
      codecs: [
        { name: "transpose", configuration: { order: [1, 0] } },
        LITTLE,
      ],
    }],
    "uint8, compressed": [1, {
      codecs: ["bytes", { name: "gzip", configuration: { level: 1 } }],
    }],
  };

for (const [name, [size, changes]] of Object.entries(TYPES)) {
  Deno.test(`zarr.get refuses a chunk of ${name} with too few or too many elements`, async () => {
    const whole = 6 * size;
    for (
      const length of [0, 1, size, whole - size, whole - 1, whole + size]
    ) {
      let bytes = new Uint8Array(length);
      if (name.includes("compressed")) {
        const body = new Response(bytes).body!;
        const gzip = body.pipeThrough(new CompressionStream("gzip"));
        bytes = await new Response(gzip).bytes();
      }
      const array = await opened(bytes, changes);
      for (
        const use of [
          () => zarr.get(array),
          () => zarr.get(array, [1, 2]),
          () => array.getChunk([0, 0]),
          () => zarr.set(array as never, [0, 0], 1 as never),
        ]
      ) {
        const error = await assertRejects(use, DamageError);
        assertEquals(error.key, "/c/0/0");
        assertEquals(
          error.message,
          `Chunk [0, 0] at "/c/0/0" decodes to ${
            Math.floor(length / size)
          } elements, where its shape [2, 3] has 6`,
        );
      }
    }
    if (name.includes("compressed")) return;
    const array = await opened(new Uint8Array(whole), changes);
    assertEquals((await zarr.get(array)).data.length, 6);
  });
}

Deno.test("zarr.get names the shard of an inner chunk with too few elements", async () => {
  const metadata = shardedMetadata();
  const stored = new MemoryStore();
  await stored.set("/a/zarr.json", encodeJson(metadata));
  const inner = [countingBytes(2), countingBytes(1)];
  await stored.set("/a/c/2", encodeShard(inner, layoutOf(metadata)));
  const root = zarr.root(withZarrParts(stored)).resolve("a");
  const array = await zarr.open(root, { kind: "array" });
  assertEquals(await zarr.get(array, [8]), 0);
  const error = await assertRejects(() => zarr.get(array, [11]), DamageError);
  assertEquals(error.key, "/a/c/2");
  assertEquals(
    error.message,
    'Chunk [5] at "/a/c/2" decodes to 1 elements, where its shape [2] has 2',
  );
});
