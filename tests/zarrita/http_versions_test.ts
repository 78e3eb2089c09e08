import { assertEquals } from "@std/assert";
import * as zarr from "zarrita";
import {
  createArrayChunks,
  encodeShard,
  HttpStore,
  MemoryStore,
} from "../../mod.ts";
import { registerCodecs } from "../../zarrita.ts";
import { serve, storeHandler } from "../stores/loopback.ts";
import { concatParts } from "../support/metadata.ts";
import { layoutOf, openIn, shardedMetadata } from "./sharded_array.ts";

registerCodecs(zarr.registry);

const WAYS = {
  "in one object": {},
  "in parts": {
    storage_transformers: [
      concatParts({ key_suffix: "" }, { key_suffix: ".index", size: 36 }),
    ],
  },
};

for (const [way, members] of Object.entries(WAYS)) {
  Deno.test(`zarr.get over HttpStore notices a replaced shard ${way}, and needs no request for absent inner chunks`, async () => {
    const stored = new MemoryStore();
    const metadata = shardedMetadata(members);
    const chunks = await createArrayChunks(stored, "", metadata);
    const store = async (value: number, prefix: number) => {
      const inner = [Uint8Array.of(value, value), undefined];
      const options = { prefix: new Uint8Array(prefix) };
      await chunks.set([0], encodeShard(inner, layoutOf(metadata), options));
    };
    await store(1, 0);
    let requests = 0;
    const etags = new Map<string, string>();
    // One date for all responses: a clock that ticks between two reads would tell of a change.
    const modified = new Date(Date.now() - 60_000).toUTCString();
    const handler = storeHandler(stored);
    const loopback = serve(async (request) => {
      requests++;
      const key = new URL(request.url).pathname as `/${string}`;
      const bytes = await stored.get(key);
      const response = await handler(request);
      if (bytes !== undefined) {
        etags.set(key, `"${bytes.join("-")}"`);
        response.headers.set("ETag", etags.get(key)!);
        response.headers.set("Last-Modified", modified);
        response.headers.set("Date", new Date().toUTCString());
      }
      return response;
    });
    try {
      const array = await openIn(new HttpStore(loopback.url));
      const selection = [zarr.slice(4)];
      const elements = async () =>
        Array.from((await zarr.get(array, selection)).data);
      assertEquals(await elements(), [1, 1, 0, 0]);
      requests = 0;
      assertEquals(await elements(), [1, 1, 0, 0]);
      assertEquals(requests, 1);
      assertEquals(await zarr.get(array, [2]), 0);
      assertEquals(requests, 1);
      for (const [value, prefix] of [[2, 3], [3, 7], [4, 0]] as const) {
        await store(value, prefix);
        assertEquals(await elements(), [value, value, 0, 0]);
      }
    } finally {
      await loopback.close();
    }
  });
}
