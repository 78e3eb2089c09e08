import { assert, assertEquals } from "@std/assert";
import * as zarr from "zarrita";
import { HttpStore } from "../../mod.ts";
import { LEAST_BYTES } from "../../src/zarrita/get_sharded.ts";
import { getSharded } from "../../zarrita.ts";
import { serve, storeHandler } from "../stores/loopback.ts";
import { countedPool } from "../threads/counted_pool.ts";
import { assertSameRead, openArray, storeArray } from "./threaded_array.ts";

LEAST_BYTES.toStart = 0;
LEAST_BYTES.toUse = 0;

type Handler = ReturnType<typeof storeHandler>;

/** Servers: with versions, without, and without ranges. */
const SERVERS: Record<string, (answer: Handler) => Handler> = {
  "with versions": (answer) => async (request) => {
    const response = await answer(request);
    response.headers.set("etag", '"1"');
    return response;
  },
  "without versions": (answer) => answer,
  "without ranges": (answer) => ({ method, url }) =>
    answer(new Request(url, { method })),
};

for (const [name, adapt] of Object.entries(SERVERS)) {
  Deno.test(`getSharded reads from a server ${name} by threads as zarr.get does`, async () => {
    const memory = await storeArray({
      shape: [300, 400],
      dataType: "uint16",
      chunkShapes: [[256, 256], [64, 128]],
      codecs: [
        { name: "bytes", configuration: { endian: "little" } },
        { name: "gzip", configuration: { level: 1 } },
      ],
    }, { isAbsent: ([row]) => row === 1 });
    const server = serve(adapt(storeHandler(memory)));
    const { threads, counts } = countedPool({ threads: 2 });
    try {
      const array = await openArray(new HttpStore(server.url));
      const expected = await zarr.get(await openArray(memory) as never);
      for (let round = 0; round < 3; round++) {
        for (const shared of [true, false]) {
          const options = { threads, shared };
          const reads = await Promise.all([
            getSharded(zarr, array as never, null, options),
            getSharded(zarr, array as never, null, options),
          ]);
          for (const read of reads) assertSameRead(read, expected);
        }
      }
      assertEquals(counts.failures, []);
      assert(counts.done === counts.jobs && counts.jobs === 12 * 16);
    } finally {
      threads[Symbol.dispose]();
      await server.close();
    }
  });
}
