import { assertEquals, assertRejects } from "@std/assert";
import { PartSizeError, splitStream } from "../../mod.ts";
import { noise } from "../checksum/noise.ts";
import { probedSource } from "./stream_probes.ts";
import { inPieces, partsOf, WINDOW } from "./stream_support.ts";

const HUGE = 2 ** 53 - 1;

for (const sizes of [[undefined, HUGE], [HUGE, undefined], [HUGE], [1, HUGE]]) {
  Deno.test(
    `splitStream keeps no more than comes for parts of sizes ${
      sizes.map(String)
    }`,
    async () => {
      for (const crc32c of ["none", "verify"] as const) {
        const pieces = inPieces(noise(2 * WINDOW), [50_000]);
        const { source } = probedSource("stream", pieces);
        const before = Deno.memoryUsage();
        const error = await assertRejects(
          () =>
            splitStream(source, partsOf(sizes), () => new WritableStream(), {
              crc32c,
            }),
          PartSizeError,
          `Chunk is ${2 * WINDOW} bytes long, where its sized parts take `,
        );
        assertEquals(error.actual, 2 * WINDOW);
        const after = Deno.memoryUsage();
        // Not of the process: other tests run in it at the same time.
        const grown = after.external - before.external;
        assertEquals(grown < 32 * WINDOW, true, `${grown} more bytes`);
      }
    },
  );
}
