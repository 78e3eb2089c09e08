import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import { MemoryStore, type Store } from "../../mod.ts";
import { contentsOf, countingBytes } from "../support/bytes.ts";
import { observedStream, piecesOf } from "../support/observed_stream.ts";
import { stepped } from "../support/stepped_store.ts";
import { ALL_KINDS, onStoresBelow, withStore } from "./stores_below.ts";
import {
  isSame,
  KEY,
  PARTS,
  pointsOf,
  setStream,
  STORING_ORDER,
} from "./set_stream.ts";

const BEFORE = countingBytes(20, 100);

for (const kind of ALL_KINDS) {
  Deno.test(`ConcatParts.apply: set of a stream that is aborted at any step leaves the earlier chunk, over ${kind}`, async () => {
    const points = await pointsOf(kind, "the earlier chunk");
    // After this step, all parts are stored. A commit does not look at the signal.
    const last = points.findLast(({ step, isDone }) =>
      step.startsWith("commit ")
        ? !isDone
        : isDone && /^(set|close) /.test(step)
    )!;
    for (const at of points) {
      await withStore(kind, async (below) => {
        const where = JSON.stringify(at);
        const controller = new AbortController();
        const { signal } = controller;
        const reason = new Error("Enough");
        let isStored = false;
        const found = await setStream(below, "the earlier chunk", (point) => {
          if (!signal.aborted) isStored ||= isSame(point, last);
          if (isSame(point, at)) controller.abort(reason);
        }, { signal });
        assert(signal.aborted, where);
        // Stores may look at the signal until they commit.
        const isDecided = !at.step.startsWith("commit ");
        if (isDecided ? isStored : found.error === undefined) {
          assertStrictEquals(found.error, undefined, where);
          assertEquals(found.stored, found.chunk, where);
          return;
        }
        assertStrictEquals(found.error, reason, where);
        assertEquals(await below.contents(), found.before, where);
        if ("ended" in found.fate) return;
        assertEquals(found.fate, { cancelled: reason }, where);
      });
    }
  });
}

onStoresBelow(
  "set of a stream that is aborted beforehand asks the store for nothing",
  async (below) => {
    const steps: string[] = [];
    const composed = PARTS.apply(below.open((step) => {
      steps.push(step);
    }));
    const { stream, fate, pulled } = observedStream([BEFORE]);
    const reason = new Error("Enough");
    const signal = AbortSignal.abort(reason);
    const error = await composed.set!(KEY, stream, { signal })
      .catch((error) => error);
    assertStrictEquals(error, reason);
    assertEquals(fate(), { cancelled: reason });
    assertEquals([steps, pulled()], [[], 0]);
    assertEquals(await below.contents(), {});
  },
);

onStoresBelow(
  "set of a stream that is aborted while that waits leaves the earlier chunk",
  async (below) => {
    const composed = PARTS.apply(below.open());
    await composed.set!(KEY, BEFORE);
    const before = await below.contents();
    for (const length of [0, 1, 4, 9]) {
      const waiting = Promise.withResolvers<void>();
      const { stream, fate } = observedStream(
        piecesOf(countingBytes(length), 2),
        waiting.resolve,
      );
      const controller = new AbortController();
      const setting = composed.set!(KEY, stream, {
        signal: controller.signal,
      });
      await waiting.promise;
      const reason = new Error("Enough");
      controller.abort(reason);
      assertStrictEquals(await setting.catch((error) => error), reason);
      assertEquals(fate(), { cancelled: reason });
      assertEquals(await below.contents(), before);
    }
  },
);

Deno.test("ConcatParts.apply: set obeys a signal while parts are stored, also over stores without signals", async () => {
  for (const hasWriter of [true, false]) {
    for (const at of STORING_ORDER.slice(0, 2)) {
      const memory = new MemoryStore();
      await PARTS.apply(memory).set(KEY, BEFORE);
      const before = await contentsOf(memory);
      const controller = new AbortController();
      const reason = new Error("Enough");
      const store = stepped(knowsNoSignals(memory), (step, isDone) => {
        if (!isDone) return;
        if (step === `set ${at}` || step === `close ${at}`) {
          controller.abort(reason);
        }
      }, hasWriter ? undefined : ["get", "stream", "set"]);
      const error = await PARTS.apply(store).set!(
        KEY,
        observedStream(piecesOf(countingBytes(9), 2)).stream,
        { signal: controller.signal },
      ).catch((error) => error);
      assertStrictEquals(error, reason, at);
      assertEquals(await contentsOf(memory), before);
    }
  }
});

/** A memory store with `writer`, none of whose methods looks at a signal. */
function knowsNoSignals(memory: MemoryStore): Store {
  return {
    get: (key) => memory.get(key),
    stream: (key) => memory.stream(key),
    set: (key, value) => memory.set(key, value),
    delete: (key) => memory.delete(key),
    writer(key) {
      const pieces: Uint8Array<ArrayBuffer>[] = [];
      return Promise.resolve({
        write(bytes) {
          pieces.push(new Uint8Array(bytes));
          return Promise.resolve(bytes.length);
        },
        close: async () => memory.set(key, await new Blob(pieces).bytes()),
        abort: () => {},
      });
    },
  };
}
