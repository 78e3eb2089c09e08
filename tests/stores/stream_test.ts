import {
  assert,
  assertEquals,
  assertRejects,
  assertStrictEquals,
  assertThrows,
} from "@std/assert";
import fc from "fast-check";
import { Buffer } from "node:buffer";
import {
  abortable,
  assertValue,
  discard,
  rangeStream,
  toBytes,
  toStream,
} from "../../src/stores/byte_streams.ts";
import { countingBytes } from "../support/bytes.ts";
import { observedBody } from "./http_stub.ts";
import { sliced } from "./sliced.ts";
import { streamOf } from "./store_values.ts";

Deno.test("assertValue takes only bytes and streams", () => {
  assertValue(countingBytes(3));
  assertValue(Buffer.from("abc"));
  assertValue(streamOf());
  const cases: [wrong: unknown, found: string][] = [
    [new ArrayBuffer(3), "ArrayBuffer of 3 bytes"],
    [new Uint16Array(3), "Uint16Array of 6 bytes"],
    [new DataView(new ArrayBuffer(2)), "DataView of 2 bytes"],
    ["abc", "a string of 3 characters"],
    [[1], "a list of 1 members"],
    [new Blob(["abc"]), "Blob"],
    [{ length: 3 }, "an object"],
    [Object.create(null), "an object"],
    [() => {}, "a function"],
    [3, "3"],
    [null, "null"],
    [undefined, "undefined"],
  ];
  for (const [wrong, found] of cases) {
    const error = assertThrows(() => assertValue(wrong), TypeError);
    assertEquals(
      error.message,
      `Expected a value to be a Uint8Array or a ReadableStream, found ${found}`,
    );
  }
});

Deno.test("toStream returns windows, and toBytes joins them", async () => {
  for (const length of [0, 1, 65_535, 65_536, 65_537, 131_072, 200_000]) {
    const bytes = countingBytes(length);
    const chunks = await Array.fromAsync(toStream(bytes));
    assertEquals(chunks.length, Math.ceil(length / 65_536));
    assert(chunks.every((chunk) => chunk.length > 0));
    assertEquals(await toBytes(toStream(bytes)), bytes);
    assertEquals(await toBytes(streamOf(...chunks)), bytes);
  }
});

Deno.test("toStream returns copies", async () => {
  const bytes = countingBytes(100_000);
  for await (const chunk of toStream(bytes)) chunk.fill(9);
  assertEquals(bytes, countingBytes(100_000));
});

Deno.test("toBytes rejects with the error of the stream or the reason of the signal", async () => {
  const failure = new Error("the source broke");
  const broken = new ReadableStream<Uint8Array>({
    start: (controller) => controller.error(failure),
  });
  assertStrictEquals(await assertRejects(() => toBytes(broken)), failure);
  const { stream, cancelled } = observedBody();
  const controller = new AbortController();
  const reading = toBytes(stream, { signal: controller.signal });
  controller.abort(failure);
  assertStrictEquals(await assertRejects(() => reading), failure);
  assertEquals(cancelled(), true);
});

Deno.test("abortable returns the stream itself if there is no signal", () => {
  const { stream } = observedBody();
  assertStrictEquals(abortable(stream, undefined), stream);
});

Deno.test("discard cancels an unlocked stream, and ignores other values", async () => {
  const reason = new Error("not stored");
  let found: unknown;
  await discard(
    new ReadableStream({
      cancel(reason) {
        found = reason;
        throw new Error("cannot be cancelled");
      },
    }),
    reason,
  );
  assertStrictEquals(found, reason);
  const { stream, cancelled } = observedBody();
  const reader = stream.getReader();
  await discard(stream, reason);
  await discard(countingBytes(3), reason);
  assertEquals(cancelled(), false);
  await reader.cancel();
});

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
