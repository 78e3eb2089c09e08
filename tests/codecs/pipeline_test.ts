import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import fc from "fast-check";
import * as zarr from "zarrita";
import { ChecksumError, DamageError, encodeShard } from "../../mod.ts";
import { elementKind } from "./element_kinds.ts";
import { oracleEncode, oracleKept } from "./packbits_oracle.ts";
import { anyCase, strides } from "./packbits_support.ts";
import {
  type Codecs,
  CRC32C,
  create,
  NotingStore,
} from "./pipeline_support.ts";

Deno.test("zarrita changes a part of a packed chunk without changing bytes held by the store", async () => {
  for (
    const [dtype, values] of [["uint8", [1, 2, 3]], ["bool", [
      1,
      0,
      1,
    ]]] as const
  ) {
    const store = new NotingStore();
    const codecs = [{ name: "packbits", configuration: {} }, CRC32C];
    const array = await create(store, dtype, [3], codecs);
    const kind = elementKind(dtype);
    const data = kind.of(values.map(BigInt));
    await zarr.set(array, null, { data, shape: [3], stride: [1] } as never);
    const before = store.get("/a/c/0")!;
    const copy = before.slice();
    await zarr.set(array, [1], (dtype === "bool" ? true : 9) as never);
    assertEquals(before, copy);
    const changed = (await zarr.get(array)).data as never;
    assertEquals(kind.patternsOf(changed), [
      1n,
      dtype === "bool" ? 1n : 9n,
      BigInt(values[2]),
    ]);
    assertEquals(kind.patternsOf(data), values.map(BigInt));
  }
});

Deno.test("zarrita rejects a chunk with any flipped bit under crc32c, and names the key", async () => {
  const store = new NotingStore();
  for (const codec of ["packbits", "bytes"]) {
    const codecs = [{ name: codec, configuration: {} }, CRC32C];
    const array = await create(store, "uint8", [3], codecs);
    await zarr.set(array, null, 200 as never);
    const chunk = store.get("/a/c/0")!;
    assertEquals(chunk.length, 7);
    for (let bit = 0; bit < 8 * chunk.length; bit++) {
      chunk[bit >> 3]! ^= 1 << (bit & 7);
      const { cause } = await assertRejects(
        () => zarr.get(array),
        zarr.CodecPipelineError,
      );
      chunk[bit >> 3]! ^= 1 << (bit & 7);
      assertInstanceOf(cause, ChecksumError);
      assertEquals(cause.key, "/a/c/0");
      assertStringIncludes(
        cause.message,
        'The chunk at "/a/c/0" has the CRC32C',
      );
    }
    const { data } = await zarr.get(array);
    assertEquals(data as unknown, new Uint8Array([200, 200, 200]));
  }
});

Deno.test("zarrita names the key of a chunk that packbits cannot decode, also after crc32c", async () => {
  for (const after of [[], [CRC32C]]) {
    const store = new NotingStore();
    const packbits = { name: "packbits", configuration: { last_bit: 2 } };
    const codecs = [packbits, ...after];
    const long = await create(store, "uint8", [9], codecs);
    await zarr.set(long, null, 1 as never);
    const short = await create(store, "uint8", [8], codecs);
    const { cause } = await assertRejects(
      () => zarr.get(short),
      zarr.CodecPipelineError,
    );
    assertInstanceOf(cause, DamageError);
    assertStringIncludes(
      cause.message,
      'The chunk at "/a/c/0" is 4 bytes long, where 8 elements of 3 bits take 3',
    );
  }
});

Deno.test("zarrita reads shards of packed chunks, and verifies their index", async () => {
  const inner = [
    { name: "packbits", configuration: { padding_encoding: "first_byte" } },
  ];
  const store = new NotingStore();
  await create(store, "bool", [8], [{
    name: "sharding_indexed",
    configuration: {
      chunk_shape: [4],
      codecs: inner,
      index_codecs: [
        { name: "bytes", configuration: { endian: "little" } },
        CRC32C,
      ],
    },
  }]);
  const shard = encodeShard(
    [new Uint8Array([4, 0b0101]), new Uint8Array([4, 0b1000])],
    {
      chunksPerShard: [2],
      indexLocation: "end",
      indexEndian: "little",
      indexHasChecksum: true,
    },
  );
  store.set("/a/c/0", shard);
  // Opened each time: zarrita keeps the index.
  const reading = async () => {
    const location = zarr.root(store).resolve("a");
    const { data } = await zarr.get(
      await zarr.open(location, { kind: "array" }),
    );
    return Array.from(data as zarr.BoolArray);
  };
  assertEquals(await reading(), [
    true,
    false,
    true,
    false,
    false,
    false,
    false,
    true,
  ]);
  shard[shard.length - 5]! ^= 1;
  const { cause } = await assertRejects(reading, zarr.CodecPipelineError);
  assertInstanceOf(cause, ChecksumError);
  assertEquals(cause.key, "/a/c/0");
});

const anyPipeline = fc.record({
  any: anyCase,
  hasChecksum: fc.boolean(),
  order: fc.option(fc.array(fc.nat(), { minLength: 5, maxLength: 5 })),
});

Deno.test("zarrita writes and reads arrays with packbits, crc32c and transpose, as the oracle does", async () => {
  let transposed = 0;
  await fc.assert(
    fc.asyncProperty(anyPipeline, async ({ any, hasChecksum, order }) => {
      const { kind, shape, configuration } = any;
      // zarrita copies by value, and a NaN may get other bits on its way.
      const patterns = any.patterns.map((pattern) =>
        Object.is((kind.of([pattern]) as never)[0], NaN) ? 0n : pattern
      );
      const dimensions = shape.map((_, i) => i);
      if (order) dimensions.sort((a, b) => order[a]! - order[b]!);
      const codecs: Codecs = [
        ...(order
          ? [{ name: "transpose", configuration: { order: dimensions } }]
          : []),
        { name: "packbits", configuration: { ...configuration } },
        ...(hasChecksum ? [CRC32C] : []),
      ];
      const store = new Map<zarr.AbsolutePath, Uint8Array>();
      const array = await create(store, kind.dataType, shape, codecs);
      const data = kind.of(patterns);
      const value = shape.length === 0
        ? kind.dataType === "bool" ? patterns[0] === 1n : data[0 as never]
        : { data, shape: [...shape], stride: strides(shape) };
      await zarr.set(array, null, value as never);

      // The places of the elements in the order that they are stored in.
      const stride = strides(shape);
      const inOrder = dimensions.map((d) => ({
        length: shape[d]!,
        step: stride[d]!,
      }));
      const places = inOrder.reduce(
        (all, { length, step }) =>
          all.flatMap((place) =>
            Array.from({ length }, (_, i) => place + i * step)
          ),
        [0],
      );
      if (places.some((place, i) => place !== i)) transposed++;
      const stored = store.get(`/a/c${shape.map(() => "/0").join("")}`)!;
      const expected = oracleEncode(
        places.map((place) => patterns[place]!),
        kind,
        configuration,
      );
      assertEquals(stored.length, expected.length + (hasChecksum ? 4 : 0));
      assertEquals(Array.from(stored.subarray(0, expected.length)), expected);
      const read = await array.getChunk(dimensions.map(() => 0));
      const kept = kind.patternsOf(read.data as never);
      assertEquals(
        kept,
        oracleKept(
          places.map((place) => patterns[place]!),
          kind,
          configuration,
        ),
      );
      assertEquals(read.stride, strides(shape, dimensions));
    }),
    { numRuns: 400 },
  );
  assert(transposed > 0);
});

Deno.test("filters that change the shape of chunks keep the order of elements", async () => {
  for (const order of [[0, 1], [1, 0], undefined]) {
    const array = await zarr.create(new Map(), {
      shape: [5, 3],
      chunkShape: [5, 3],
      dtype: "bool",
      fillValue: false,
      codecs: [
        ...order ? [{ name: "transpose", configuration: { order } }] : [],
        { name: "numcodecs.packbits", configuration: {} },
        { name: "bytes", configuration: {} },
      ],
    });
    const data = new zarr.BoolArray(15);
    for (const i of [1, 2, 4, 7, 13]) data.set(i, true);
    await zarr.set(array, null, { data, shape: [5, 3], stride: [3, 1] });
    const read = await zarr.get(array);
    const elements = [0, 1, 2, 3, 4].flatMap((y) =>
      [0, 1, 2].map((x) =>
        (read.data as zarr.BoolArray).get(
          y * read.stride[0]! + x * read.stride[1]!,
        )
      )
    );
    assertEquals(elements, [...data]);
    const column = await zarr.get(array, [null, 1]);
    assertEquals(
      Array.from(column.data as Iterable<boolean>),
      [0, 1, 2, 3, 4].map((y) => data.get(3 * y + 1)),
    );
  }
});
