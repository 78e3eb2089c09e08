/** Shards that are zips, as `zipContainer` makes them, and damage that only their entries show. */
import { assert, assertEquals } from "@std/assert";
import * as zarr from "zarrita";
import {
  arrayMetadata,
  createArrayChunks,
  MemoryStore,
  type StoreKey,
} from "../../mod.ts";
import { verify } from "../../jobs.ts";
import { zipContainer } from "../../zip.ts";
import { setSharded, withZarrParts } from "../../zarrita.ts";
import { stride } from "../support/runs.ts";

/** The key of a shard, and of the bytes of its inner chunks, by where the index lies. */
const PLACES: Record<string, { parts?: string[]; key: StoreKey }> = {
  "in a comment": { key: "/c/0.zip" },
  "beside the zip": { parts: ["", ".index"], key: "/c/0.zip" },
};

for (const [place, { parts, key }] of Object.entries(PLACES)) {
  Deno.test(`verify finds any damaged byte of a zip shard with its index ${place}`, async () => {
    const metadata = arrayMetadata({
      shape: [64],
      dataType: "uint8",
      shardShape: [64],
      chunkShape: [32],
      suffix: ".zip",
      ...parts && { parts },
    });
    const store = new MemoryStore();
    await createArrayChunks(store, "", metadata);
    const array = await zarr.open(zarr.root(withZarrParts(store)), {
      kind: "array",
    });
    const values = Uint8Array.from({ length: 64 }, (_, i) => i);
    const container = zipContainer(metadata, { zarrJson: "first" });
    await setSharded(zarr, array, null, values, { container });
    assertEquals((await verify(store, "", { deep: true })).findings, []);
    const zip = (await store.get(key))!;
    // Of each of the three entries, 26 bytes of versions, flags, times and attributes.
    const passed: number[] = [];
    for (let at = 0; at < zip.length; at += stride(4)) {
      await store.set(key, zip.with(at, zip[at]! ^ 4));
      const { findings } = await verify(store, "", { deep: true });
      if (findings.length === 0) passed.push(at);
      for (const { rule } of findings) {
        assert(
          /^(?:shard-file|inner-chunk-checksum|index-|chunk-)/.test(rule),
          rule,
        );
      }
    }
    assert(passed.length <= 26 * 3, `${passed.length} of ${zip.length}`);
    // Every byte of an entry and of its names is compared.
    const text = new TextDecoder("latin1").decode(zip);
    for (const name of ["zarr.json", "c/0", "c/1"]) {
      const [first, second] = [text.indexOf(name), text.lastIndexOf(name)];
      for (const at of [first, second]) {
        assert(!passed.some((p) => p >= at && p < at + name.length), name);
      }
    }
    for (let value = 0; value < 64; value++) {
      assert(
        !passed.some((at) => zip[at] === value && zip[at + 1] === value + 1),
      );
    }
  });
}
