import { assertEquals, assertRejects } from "@std/assert";
import * as zarr from "zarrita";
import {
  createArrayChunks,
  MemoryStore,
  type ShardContainer,
} from "../../mod.ts";
import {
  registerCodecs,
  setSharded,
  type SetShardedOptions,
  withZarrParts,
} from "../../zarrita.ts";
import { concatParts } from "../support/metadata.ts";
import { shardedMetadata } from "./sharded_array.ts";

registerCodecs(zarr.registry);

const DATA = Uint8Array.from({ length: 12 }, (_, i) => i + 1);
const INDEX = { key_suffix: ".index", size: 36 };

/** A container whose bytes say which shard they belong to. */
function containerOf([shard]: readonly number[]): ShardContainer {
  return {
    head: () => Uint8Array.of(100, shard!),
    before: (place) => Uint8Array.of(200 + place),
    tail: () => Uint8Array.of(101, shard!),
  };
}

/** An array of three shards of two inner chunks of two elements. */
async function created(
  { parts, location = "end" }: {
    parts?: { key_suffix: string; size?: number }[];
    location?: "start" | "end";
  } = {},
) {
  const stored = new MemoryStore();
  const changes = parts
    ? { storage_transformers: [concatParts(...parts)] }
    : {};
  await createArrayChunks(stored, "", shardedMetadata(changes, { location }));
  const array = await zarr.open(withZarrParts(stored), { kind: "array" });
  const write = (
    selection: zarr.Slice[] | null,
    data: Uint8Array,
    options: SetShardedOptions,
  ) => setSharded(zarr, array, selection, data, options);
  const file = async (i: number) => {
    const value = await stored.get(`/c/${i}`);
    return value && [...value];
  };
  return { stored, array, write, file };
}

Deno.test("setSharded writes the container of each shard around its inner chunks", async () => {
  const { array, write, file } = await created({
    parts: [{ key_suffix: "" }, INDEX],
  });
  await write(null, DATA, { container: containerOf });
  assertEquals(await file(0), [100, 0, 200, 1, 2, 201, 3, 4, 101, 0]);
  assertEquals(await file(2), [100, 2, 200, 9, 10, 201, 11, 12, 101, 2]);
  assertEquals((await zarr.get(array, null)).data, DATA);
});

Deno.test("setSharded replaces the container of a shard that is changed in part", async () => {
  const { array, write, file } = await created({
    parts: [{ key_suffix: "" }, INDEX],
  });
  await write(null, DATA, { container: containerOf });
  const container = { tail: () => Uint8Array.of(42) };
  await write([zarr.slice(5, 6)], Uint8Array.of(77), { container });
  assertEquals(await file(1), [5, 77, 7, 8, 42]);
  assertEquals(await file(0), [100, 0, 200, 1, 2, 201, 3, 4, 101, 0]);
  const { data } = await zarr.get(array, [zarr.slice(4, 8)]);
  assertEquals(data, Uint8Array.of(5, 77, 7, 8));
});

Deno.test("setSharded puts the index after the container in shards of one object", async () => {
  const { array, write, file } = await created();
  await write(null, DATA, { container: containerOf([7]) });
  const shard = (await file(0))!;
  assertEquals(shard.slice(0, -36), [100, 7, 200, 1, 2, 201, 3, 4, 101, 7]);
  assertEquals((await zarr.get(array, null)).data, DATA);
});

Deno.test("setSharded writes a container whose head fills the head parts, and refuses others", async () => {
  for (const size of [1, 2, 3]) {
    const parts = [{ key_suffix: ".head", size }, { key_suffix: "" }, INDEX];
    const { stored, write, file } = await created({ parts });
    const writing = write(null, DATA, { container: containerOf });
    if (size === 2) {
      await writing;
      assertEquals(await stored.get("/c/1.head"), Uint8Array.of(100, 1));
      assertEquals(await file(1), [200, 5, 6, 201, 7, 8, 101, 1]);
      continue;
    }
    await assertRejects(
      () => writing,
      RangeError,
      `Expected a container with a head of ${size} bytes, as many as the head parts of the array take, found a head of 2 bytes`,
    );
    assertEquals(await file(0), undefined);
  }
});

Deno.test("setSharded refuses a container where the index is at the start, or beside a prefix, and writes nothing", async () => {
  const { write, file } = await created({ location: "start" });
  await assertRejects(
    () => write(null, DATA, { container: containerOf }),
    RangeError,
    'create the array with index_location "end"',
  );
  assertEquals(await file(0), undefined);
  const { write: writeEnd, file: fileEnd } = await created();
  await assertRejects(
    () =>
      writeEnd(null, DATA, {
        container: containerOf,
        prefix: new Uint8Array(2),
      }),
    TypeError,
    "Expected a prefix or a container, found both",
  );
  assertEquals(await fileEnd(0), undefined);
});
