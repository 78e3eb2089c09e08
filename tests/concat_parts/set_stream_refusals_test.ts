import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertRejects,
  assertStrictEquals,
} from "@std/assert";
import {
  type ByteWriter,
  ConcatParts,
  MemoryStore,
  PartSizeError,
  type Store,
} from "../../mod.ts";
import { contentsOf, countingBytes } from "../support/bytes.ts";
import { observedStream, piecesOf } from "../support/observed_stream.ts";
import { onStoresBelow } from "./stores_below.ts";
import { settle } from "../splitter/probes.ts";
import { KEY, PARTS } from "./set_stream.ts";

const BEFORE = countingBytes(20, 100);

onStoresBelow(
  "set of a stream that fails anywhere leaves the earlier chunk, or none",
  async (below) => {
    const composed = PARTS.apply(below.open());
    for (const key of ["/c/1", KEY] as const) {
      if (key === KEY) await composed.set!(KEY, BEFORE);
      const before = await below.contents();
      for (let length = 0; length <= 9; length++) {
        const failure = new Error("Line cut");
        const pieces = piecesOf(countingBytes(length), 1);
        const { stream } = observedStream(pieces, failure);
        const error = await composed.set!(key, stream).catch((error) => error);
        assertStrictEquals(error, failure);
        assertEquals(await below.contents(), before);
      }
    }
  },
);

onStoresBelow(
  "set of a stream that is too short or too long leaves the earlier chunk",
  async (below) => {
    const exact = new ConcatParts([
      { keySuffix: ".h", size: 3 },
      { keySuffix: "", size: 4 },
      { keySuffix: ".t", size: 2 },
    ]);
    for (
      const [parts, wrong] of [[PARTS, [0, 4]], [exact, [
        0,
        8,
        10,
        99,
      ]]] as const
    ) {
      const composed = parts.apply(below.open());
      const least = parts === PARTS ? 5 : 9;
      await composed.set!(KEY, countingBytes(9, 100));
      const before = await below.contents();
      for (const length of wrong) {
        const pieces = piecesOf(countingBytes(length), 3);
        const { stream, fate } = observedStream(pieces);
        const error = await composed.set!(KEY, stream).catch((error) => error);
        assertInstanceOf(error, PartSizeError);
        assertEquals([error.key, error.expected], [KEY, least]);
        assertEquals(await below.contents(), before);
        // Pieces after the first one too many are not read.
        assertEquals(error.actual, Math.min(length, 12));
        if (length === 99) assertEquals(fate(), { cancelled: error });
        assert(!("open" in fate()));
      }
      const right = countingBytes(least);
      await composed.set!(KEY, observedStream(piecesOf(right, 2)).stream);
      assertEquals(await composed.get(KEY), right);
    }
  },
);

Deno.test("ConcatParts.apply: set of a stream that gives something else than bytes leaves the earlier chunk", async () => {
  const memory = new MemoryStore();
  const composed = PARTS.apply(memory);
  await composed.set(KEY, BEFORE);
  const before = await contentsOf(memory);
  const { stream, fate } = observedStream(
    [countingBytes(7), "abc" as unknown as Uint8Array],
  );
  const error = await assertRejects(() => composed.set(KEY, stream), TypeError);
  assertEquals(fate(), { cancelled: error });
  assertEquals(await contentsOf(memory), before);
});

/** How a store may refuse a stream. */
const REFUSALS: Record<
  string,
  (stream: ReadableStream<Uint8Array>, failure: Error) => Promise<void>
> = {
  "at once": (_, failure) => Promise.reject(failure),
  "later": async (_, failure) => {
    await settle();
    throw failure;
  },
  "after it cancelled the stream": async (stream, failure) => {
    await stream.cancel("no reason that would help");
    await settle();
    throw failure;
  },
  "in a loop over the stream": async (stream, failure) => {
    for await (const _ of stream) throw failure;
  },
  "when it has read all": async (stream, failure) => {
    await new Response(stream as ReadableStream<Uint8Array<ArrayBuffer>>)
      .bytes();
    throw failure;
  },
};

for (const [how, refuse] of Object.entries(REFUSALS)) {
  Deno.test(`ConcatParts.apply: set of a stream rejects with the error of a store that refuses ${how}`, async () => {
    for (const waits of [true, false]) {
      // A store that reads all waits for the end.
      if (waits && how === "when it has read all") continue;
      for (const refused of [KEY, `${KEY}.h`, `${KEY}.t`]) {
        const memory = new MemoryStore();
        await PARTS.apply(memory).set(KEY, BEFORE);
        const before = await contentsOf(memory);
        const failure = new Error("Quota exceeded");
        const composed = PARTS.apply<Store>({
          get: (key) => memory.get(key),
          stream: (key) => memory.stream(key),
          delete: (key) => memory.delete(key),
          set: (key, value) =>
            key === refused && value instanceof ReadableStream
              ? refuse(value, failure)
              : memory.set(key, value),
        });
        // The tail part only begins at the end of the stream.
        if (waits && refused.endsWith(".t")) continue;
        const { stream, fate } = observedStream(
          [countingBytes(9)],
          waits ? () => {} : undefined,
        );
        const error = await composed.set!(KEY, stream).catch((error) => error);
        assertStrictEquals(error, failure, refused);
        if (waits) assertEquals(fate(), { cancelled: failure });
        assertEquals(await contentsOf(memory), before);
      }
    }
  });
}

Deno.test("ConcatParts.apply: set of a stream aborts a writer that opens after the abort", async () => {
  const memory = new MemoryStore();
  const opening = Promise.withResolvers<ByteWriter>();
  const asked = Promise.withResolvers<void>();
  const aborted = Promise.withResolvers<unknown>();
  const opened: string[] = [];
  const composed = PARTS.apply<Store>({
    get: (key) => memory.get(key),
    set: (key, value) => memory.set(key, value),
    writer(key) {
      opened.push(key);
      asked.resolve();
      return opening.promise;
    },
  });
  const { stream, fate } = observedStream([countingBytes(9)]);
  const controller = new AbortController();
  const setting = composed.set!(KEY, stream, { signal: controller.signal });
  await asked.promise;
  const reason = new Error("Enough");
  controller.abort(reason);
  opening.resolve({
    write: () => Promise.reject(new Error("Written to what was given up")),
    close: () => Promise.reject(new Error("Closed what was given up")),
    abort: aborted.resolve,
  });
  assertStrictEquals(await setting.catch((error) => error), reason);
  assertStrictEquals(await aborted.promise, reason);
  await settle();
  assert(!("open" in fate()));
  assertEquals(opened, [`${KEY}.h`]);
  assertEquals(await contentsOf(memory), {});
});
