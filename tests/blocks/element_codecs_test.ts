import { assertEquals, assertRejects } from "@std/assert";
import * as zarr from "zarrita";
import { convert } from "../../jobs.ts";
import { arrayMetadata, encodeShard, MemoryStore } from "../../mod.ts";
import {
  getSharded,
  registerCodecs,
  setSharded,
  withZarrParts,
} from "../../zarrita.ts";
import { encodeJson } from "../support/documents.ts";

registerCodecs(zarr);

const BIG = { name: "bytes", configuration: { endian: "big" } };
const WIDENED = {
  name: "numcodecs.astype",
  configuration: { encode_dtype: "<i4", decode_dtype: "<i1" },
};

Deno.test("blocks keep the byte order of elements that a filter makes longer than one byte", async () => {
  const store = new MemoryStore();
  const metadata = {
    ...arrayMetadata({ shape: [4], dataType: "int8", chunkShape: [4] }),
    codecs: [WIDENED, BIG],
  };
  await store.set("/zarr.json", encodeJson(metadata));
  const array = await zarr.open.v3(withZarrParts(store), { kind: "array" });
  const elements = new Int8Array([1, 2, 3, -4]);
  await setSharded(zarr, array, null, elements);
  assertEquals(
    await store.get("/c/0"),
    new Uint8Array([0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 255, 255, 255, 252]),
  );
  assertEquals((await zarr.get(array)).data, elements);
  assertEquals((await getSharded(zarr, array)).data, elements);

  const target = new MemoryStore();
  await convert(store, target, { recode: { codecs: "none" } });
  assertEquals(await target.get("/c/0"), new Uint8Array([1, 2, 3, 252]));
});

Deno.test("whole shards behind a filter are decoded, and refused where an inner chunk is absent and the filter changes the fill value", async () => {
  const codecs = (filter: object) => [filter, {
    name: "sharding_indexed",
    configuration: {
      chunk_shape: [2],
      codecs: [{ name: "bytes" }],
      index_codecs: [BIG],
    },
  }];
  const read = async (filter: object, second: Uint8Array | undefined) => {
    const store = new MemoryStore();
    const plain = arrayMetadata({
      ...{ shape: [4], dataType: "uint8", chunkShape: [4], fillValue: 7 },
    });
    const metadata = { ...plain, codecs: codecs(filter) };
    await store.set("/zarr.json", encodeJson(metadata));
    const shard = encodeShard([new Uint8Array([1, 2]), second], {
      chunksPerShard: [2],
      indexLocation: "end",
      indexEndian: "big",
      indexHasChecksum: false,
    });
    await store.set("/c/0", shard);
    const target = new MemoryStore();
    const recode = { codecs: "none", chunks: [4], shards: null };
    await convert(store, target, { recode });
    return await target.get("/c/0");
  };
  const offset = { name: "scale_offset", configuration: { offset: 5 } };
  const same = { name: "transpose", configuration: { order: [0] } };
  const present = await read(offset, new Uint8Array([3, 4]));
  assertEquals(present, new Uint8Array([6, 7, 8, 9]));
  assertEquals(await read(same, undefined), new Uint8Array([1, 2, 7, 7]));
  await assertRejects(
    () => read(offset, undefined),
    Error,
    "an inner chunk is absent, and the fill value is not understood",
  );
});
