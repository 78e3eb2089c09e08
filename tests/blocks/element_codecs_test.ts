import { assertEquals } from "@std/assert";
import * as zarr from "zarrita";
import { convert } from "../../jobs.ts";
import { arrayMetadata, MemoryStore } from "../../mod.ts";
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
