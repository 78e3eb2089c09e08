import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { toBytes } from "../../src/stores/byte_streams.ts";
import { rangeStream } from "../../src/stores/byte_streams.ts";
import { countingBytes } from "../support/bytes.ts";
import { observedBody } from "./http_stub.ts";
import { sliced } from "./sliced.ts";
import { streamOf } from "./store_values.ts";

Deno.test("rangeStream returns the same bytes as slice, for any chunks", async () => {
  const range = fc.oneof(
    fc.record({ offset: fc.nat(40), length: fc.integer({ min: 1, max: 40 }) }),
    fc.record({ suffixLength: fc.integer({ min: 1, max: 40 }) }),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat(9), { maxLength: 8 }),
      range,
      async (lengths, range) => {
        const chunks: Uint8Array[] = [];
        let size = 0;
        for (const length of lengths) {
          chunks.push(countingBytes(length, size));
          size += length;
        }
        assertEquals(
          await toBytes(streamOf(...chunks).pipeThrough(rangeStream(range))),
          sliced(countingBytes(size), range),
        );
      },
    ),
    { numRuns: 300 },
  );
});

Deno.test("rangeStream cancels an endless source at the end of the range", async () => {
  const { stream, cancelled, pulls } = observedBody(countingBytes(4));
  const range = { offset: 5, length: 3 };
  const bytes = await toBytes(stream.pipeThrough(rangeStream(range)));
  assertEquals(bytes, new Uint8Array([1, 2, 3]));
  assertEquals(cancelled(), true);
  assert(pulls() <= 4);
});

Deno.test("rangeStream buffers no more than a suffix", async () => {
  const chunk = new Uint8Array(2 ** 20);
  const { stream } = observedBody(chunk, 600);
  // Not of the process: other tests run in it at the same time.
  const start = Deno.memoryUsage().external;
  let most = 0;
  const watched = stream.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        most = Math.max(most, Deno.memoryUsage().external - start);
        controller.enqueue(chunk);
      },
    }),
  ).pipeThrough(rangeStream({ suffixLength: 3 }));
  assertEquals((await toBytes(watched)).length, 3);
  assert(most < 300 * 2 ** 20, `${most} bytes more were in use`);
});
