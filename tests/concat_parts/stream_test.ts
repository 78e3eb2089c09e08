import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import {
  ConcatParts,
  MemoryStore,
  MissingPartError,
  type Part,
  PartSizeError,
  type Store,
} from "../../mod.ts";
import { countingBytes } from "../support/bytes.ts";

const LARGE = 300_000;
const PARTS: Part[] = [
  { keySuffix: ".first", size: LARGE },
  { keySuffix: "" },
  { keySuffix: ".last", size: LARGE },
];

/** How the stream of a part ended. */
interface Fate {
  closed?: true;
  cancelled?: unknown;
}

/**
 * A store of streams that give `pieces` of 1,000 bytes each, and note how they
 * end. A key without an entry has no value; an entry with an error fails at its end.
 */
function streamStore(
  streams: Record<string, { pieces: number; error?: Error } | undefined>,
): { store: Store; fates: Record<string, Fate> } {
  const fates: Record<string, Fate> = {};
  const store: Store = {
    get: () => Promise.resolve(undefined),
    size: (key) => Promise.resolve(streams[key] && streams[key].pieces * 1000),
    stream: (key) => {
      const given = streams[key];
      if (given === undefined) return Promise.resolve(undefined);
      const fate: Fate = fates[key] = {};
      let left = given.pieces;
      return Promise.resolve(
        new ReadableStream({
          pull(controller) {
            if (left-- > 0) controller.enqueue(new Uint8Array(1000));
            else if (given.error) controller.error(given.error);
            else {
              fate.closed = true;
              controller.close();
            }
          },
          cancel(reason) {
            fate.cancelled = reason;
          },
        }, { highWaterMark: 0 }),
      );
    },
  };
  return { store, fates };
}

const WHOLE = {
  "/c/0.first": { pieces: 300 },
  "/c/0": { pieces: 3 },
  "/c/0.last": { pieces: 300 },
};

async function lengthOf(stream: ReadableStream<Uint8Array>): Promise<number> {
  let length = 0;
  for await (const piece of stream) length += piece.length;
  return length;
}

async function streamOf(store: Store, options = {}) {
  return (await new ConcatParts(PARTS).apply(store).stream("/c/0", options))!;
}

Deno.test("ConcatParts.apply: stream reads no further than its reader", async () => {
  const memory = new MemoryStore();
  const chunk = countingBytes(LARGE + 500 + LARGE);
  await new ConcatParts(PARTS).apply(memory).set("/c/0", chunk);
  let pulled = 0;
  const stream = await streamOf({
    get: (key) => memory.get(key),
    stream: async (key) => {
      const bytes = (await memory.get(key))!;
      let offset = 0;
      return new ReadableStream({
        pull(controller) {
          pulled++;
          controller.enqueue(bytes.slice(offset, offset += 1000));
          if (offset >= bytes.length) controller.close();
        },
      }, { highWaterMark: 0 });
    },
  });
  assertEquals(pulled, 0);
  const reader = stream.getReader();
  const first = await reader.read();
  assertEquals(first.value, chunk.slice(0, 1000));
  assertEquals(pulled, 1);
  await reader.cancel();
});

Deno.test("ConcatParts.apply: a stream that is cancelled while it waits for a part cancels every part", async () => {
  const { store, fates } = streamStore(WHOLE);
  let cancelled: unknown;
  const stream = await streamOf({
    ...store,
    stream: (key) =>
      key === "/c/0.first"
        ? Promise.resolve(
          new ReadableStream({
            pull: () => new Promise(() => {}),
            cancel: (reason) => void (cancelled = reason),
          }),
        )
        : store.stream!(key),
  });
  const reader = stream.getReader();
  const reading = reader.read();
  await reader.cancel("enough");
  assertEquals((await reading).done, true);
  assertStrictEquals(cancelled, "enough");
  assertEquals(fates, {
    "/c/0": { cancelled: "enough" },
    "/c/0.last": { cancelled: "enough" },
  });
});

Deno.test("ConcatParts.apply: a stream whose part fails cancels the other parts", async () => {
  const error = new Error("Line cut");
  const { store, fates } = streamStore({
    ...WHOLE,
    "/c/0": { pieces: 1, error },
  });
  const stream = await streamOf(store);
  await assertRejects(() => lengthOf(stream), Error, "Line cut");
  assertEquals(fates, {
    "/c/0.first": { closed: true },
    "/c/0": {},
    "/c/0.last": { cancelled: error },
  });
});

for (
  const [key, pieces] of [["/c/0.first", 299], ["/c/0.first", 301], [
    "/c/0.last",
    69,
  ], ["/c/0.last", 301]] as const
) {
  Deno.test(`ConcatParts.apply: a stream finds that ${key} has ${pieces},000 bytes instead of 300,000`, async () => {
    const { store, fates } = streamStore({ ...WHOLE, [key]: { pieces } });
    const stream = await streamOf(store);
    const error = await assertRejects(
      () => lengthOf(stream),
      PartSizeError,
      `Part "${key}" is`,
    );
    assertEquals([error.key, error.expected, error.actual], [
      key,
      LARGE,
      pieces * 1000,
    ]);
    // Every part was read to its end or cancelled.
    for (const fate of Object.values(fates)) {
      assertEquals(Object.keys(fate).length, 1);
    }
  });
}

Deno.test("ConcatParts.apply: a stream of a chunk that lacks a part cancels the parts that exist", async () => {
  for (const missing of Object.keys(WHOLE)) {
    const { store, fates } = streamStore({ ...WHOLE, [missing]: undefined });
    await assertRejects(
      () => streamOf(store),
      MissingPartError,
      `lacks "${missing}"`,
    );
    assertEquals(Object.keys(fates).length, 2);
    for (const { cancelled } of Object.values(fates)) {
      assertEquals(cancelled instanceof MissingPartError, true);
    }
  }
});

Deno.test("ConcatParts.apply: a stream that is aborted fails with the reason and cancels its parts, also over a store without signals", async () => {
  const { store, fates } = streamStore(WHOLE);
  const controller = new AbortController();
  const reader = (await streamOf(store, { signal: controller.signal }))
    .getReader();
  await reader.read();
  const reason = new Error("Enough");
  controller.abort(reason);
  await assertRejects(() => reader.read(), Error, "Enough");
  for (const fate of Object.values(fates)) {
    assertEquals(fate, { cancelled: reason });
  }
});

Deno.test("ConcatParts.apply: a stream that cannot open a part does not wait for the other parts", async () => {
  let opened = (_: ReadableStream<Uint8Array>) => {};
  const late = new Promise<ReadableStream<Uint8Array>>((resolve) =>
    opened = resolve
  );
  await assertRejects(
    () =>
      streamOf({
        get: () => Promise.resolve(undefined),
        stream: (key) =>
          key === "/c/0" ? late : Promise.reject(new Error("Forbidden")),
      }),
    Error,
    "Forbidden",
  );
  // A part that opens later is cancelled at once.
  const cancelled = new Promise((resolve) =>
    opened(new ReadableStream({ cancel: resolve }))
  );
  assertEquals(((await cancelled) as Error).message, "Forbidden");
});
