import {
  assert,
  assertEquals,
  assertRejects,
  assertStrictEquals,
  assertThrows,
} from "@std/assert";
import { Buffer } from "node:buffer";
import {
  abortable,
  assertValue,
  discard,
  toBytes,
  toStream,
} from "../../src/stores/byte_streams.ts";
import { countingBytes } from "../support/bytes.ts";
import { observedBody } from "./http_stub.ts";
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
