/** Chunks that are damaged in any way: an error, or elements; never too much memory. */
import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertRejects,
} from "@std/assert";
import fc from "fast-check";
import {
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from "node:zlib";
import * as zarr from "zarrita";
import { DamageError } from "../../mod.ts";
import { encodeLzw } from "../../src/codecs/lzw_codec.ts";
import { encodeRuns } from "../../src/codecs/run_length_codec.ts";
import { registerCodecs } from "../../zarrita.ts";
import { compression, WAYS } from "./compression_support.ts";
import { mixedBytes } from "./imagecodecs_support.ts";
import { fixture } from "./jpeg_fixtures.ts";

registerCodecs(zarr);

const BYTES = { name: "bytes", configuration: { endian: "little" } };
const COMPRESSORS = [
  ...["gzip", "zlib", "zstd"].flatMap((name) => [name, `numcodecs.${name}`]),
  "imagecodecs_deflate",
  "imagecodecs_zlib",
  "imagecodecs_zstd",
  "imagecodecs_lzw",
  "imagecodecs_packbits",
];
const CHAINS: [string, string[]][] = [
  ...COMPRESSORS.map((name): [string, string[]] => ["int16", ["bytes", name]]),
  ["int16", ["bytes", "crc32c"]],
  ["int16", ["bytes", "imagecodecs_lzw", "zstd"]],
  ["int16", ["bytes", "zstd", "imagecodecs_packbits", "crc32c"]],
  ["int32", ["imagecodecs_delta", "bytes", "imagecodecs_lzw"]],
  ["float32", ["imagecodecs_floatpred", "bytes", "imagecodecs_packbits"]],
  ["bool", ["packbits"]],
];

interface Stored {
  readonly store: Map<string, Uint8Array>;
  readonly array: zarr.Array<zarr.DataType, Map<string, Uint8Array>>;
}

async function emptyArray(
  dtype: string,
  shape: number[],
  names: readonly string[],
): Promise<Stored> {
  const store = new Map<string, Uint8Array>();
  const array = await zarr.create(store, {
    shape,
    chunkShape: shape,
    dtype: dtype as "int16",
    fillValue: (dtype === "bool" ? false : 0) as never,
    codecs: names.map((name) =>
      name === "bytes" ? BYTES : { name, configuration: {} }
    ),
  });
  return { store, array };
}

/** Cuts, changes, repeats or invents encoded bytes. */
const anyDamage: fc.Arbitrary<(bytes: Uint8Array) => Uint8Array> = fc.oneof(
  fc.double({ min: 0, max: 1, noNaN: true }).map((part) => (b: Uint8Array) =>
    b.slice(0, Math.floor(part * b.length))
  ),
  fc.array(
    fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(255)),
    { minLength: 1, maxLength: 5 },
  ).map((changes) => (bytes: Uint8Array) => {
    const changed = bytes.slice();
    for (const [part, byte] of changes) {
      changed[Math.floor(part * (bytes.length - 1))] = byte;
    }
    return changed;
  }),
  fc.uint8Array({ minLength: 1, maxLength: 30 }).map(
    (more) => (bytes: Uint8Array) => new Uint8Array([...bytes, ...more]),
  ),
  fc.uint8Array({ maxLength: 300 }).map((bytes) => () => bytes),
);

for (const [dtype, names] of CHAINS) {
  Deno.test(`zarrita returns all elements or refuses a damaged chunk of ${dtype} with ${names}`, async () => {
    const { store, array } = await emptyArray(dtype, [300], names);
    const empty = await zarr.get(array) as { data: Uint8Array };
    const size = empty.data.byteLength;
    if (dtype === "bool") await zarr.set(array as never, null, true as never);
    else {
      new Uint8Array(empty.data.buffer).set(
        mixedBytes(size).map((b) => b & 63),
      );
      const chunk = { data: empty.data, shape: [300], stride: [1] };
      await zarr.set(array, null, chunk as never);
    }
    const encoded = store.get("/c/0")!;
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(anyDamage, async (damage) => {
        store.set("/c/0", damage(encoded));
        let data: { byteLength: number };
        try {
          ({ data } = await zarr.get(array) as { data: Uint8Array });
        } catch (error) {
          assertInstanceOf(error, zarr.CodecPipelineError);
          assertInstanceOf(error.cause, DamageError);
          refused++;
          return;
        }
        assertEquals(data.byteLength, size);
      }),
      { numRuns: 300 },
    );
    assert(refused > 50, `${refused} chunks were refused`);
  });
}

Deno.test("zarrita returns all elements or refuses a damaged chunk of imagecodecs_jpeg", async () => {
  const { jpeg, shape } = fixture("33x17x3 -sample 2x2 -progressive");
  const { store, array } = await emptyArray("uint8", [...shape], [
    "imagecodecs_jpeg",
  ]);
  await fc.assert(
    fc.asyncProperty(anyDamage, async (damage) => {
      store.set("/c/0/0/0", damage(jpeg));
      try {
        const { data } = await zarr.get(array) as { data: Uint8Array };
        assertEquals(data.length, 33 * 17 * 3);
      } catch (error) {
        assertInstanceOf(error, zarr.CodecPipelineError);
        assertInstanceOf(error.cause, DamageError);
      }
    }),
    { numRuns: 500 },
  );
});

/** A chunk that decodes to 64 MiB. */
const ZEROS = new Uint8Array(2 ** 26);
const BOMBS: Record<string, () => Uint8Array> = {
  gzip: () => gzipSync(ZEROS),
  zlib: () => deflateSync(ZEROS),
  zstd: () => zstdCompressSync(ZEROS, { pledgedSrcSize: 2 ** 26 } as object),
  "zstd without its length": () => zstdCompressSync(ZEROS),
  imagecodecs_deflate: () => deflateSync(ZEROS),
  imagecodecs_lzw: () => encodeLzw(ZEROS),
  imagecodecs_packbits: () => encodeRuns(ZEROS, ZEROS.length),
};

for (const [bomb, make] of Object.entries(BOMBS)) {
  Deno.test(`zarrita stops at the length of the chunk in a bomb of ${bomb}, alone and around other codecs`, async () => {
    const [name] = bomb.split(" ") as [string];
    const bytes = new Uint8Array(make());
    for (
      const names of [
        ["bytes", name],
        ["bytes", "crc32c", name],
        ["bytes", "imagecodecs_lzw", name],
        ["bytes", "zlib", "imagecodecs_packbits", name],
        ["bytes", name, "zlib", name],
      ]
    ) {
      const { store, array } = await emptyArray("int16", [2000], names);
      store.set("/c/0", bytes);
      // Programs write longer data, of which the start is read.
      if (
        names.length === 2 && /_lzw|_packbits/.test(name)
      ) {
        assertEquals((await zarr.get(array)).data, new Int16Array(2000));
        continue;
      }
      const { cause } = await assertRejects(
        () => zarr.get(array),
        zarr.CodecPipelineError,
      );
      assertInstanceOf(cause, DamageError);
      assert(/decode[sd] (to|by)|CRC32C/.test(cause.message), cause.message);
    }
  });
}

for (const way of WAYS) {
  Deno.test(`zstd stops in many frames without their length, by the ${way} way`, async () => {
    const frame = new Uint8Array(zstdCompressSync(ZEROS.subarray(0, 2 ** 20)));
    const frames = Array.from({ length: 200 }, () => [...frame]).flat();
    const many = new Uint8Array(frames);
    await assertRejects(
      () => compression("zstd", way, 2 ** 20).decode(many),
      DamageError,
      "decodes to more than 1048576 bytes by zstd",
    );
    // Few of them hold at most what a chunk may have.
    const few = new Uint8Array([...frame, ...frame]);
    const codec = compression("zstd", way, 2 ** 21);
    assertEquals((await codec.decode(few)).length, 2 ** 21);
  });
}

Deno.test("zstd of the portable way refuses a frame whose length is unknown and may exceed memory", async () => {
  const large = new Uint8Array(zstdCompressSync(new Uint8Array(2 ** 27)));
  const both = new Uint8Array([...large, ...large]);
  await assertRejects(
    () => compression("zstd", "portable", 4096).decode(both),
    DamageError,
    "A frame without its length may have up to 134217728 bytes",
  );
});

Deno.test("imagecodecs_deflate with raw stops at the length of the chunk", async () => {
  const bomb = new Uint8Array(deflateRawSync(ZEROS));
  for (const way of WAYS) {
    const codec = compression("imagecodecs_deflate", way, 4096, { raw: true });
    await assertRejects(
      () => codec.decode(bomb),
      DamageError,
      "decodes to more than 4096 bytes",
    );
  }
});
