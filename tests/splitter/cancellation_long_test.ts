/** Signals and cancellation between two steps. `faults_long_test.ts` has all single steps. */
import {
  assert,
  assertEquals,
  assertRejects,
  assertStrictEquals,
} from "@std/assert";
import {
  type ByteReader,
  type ByteWriter,
  concatStream,
  type Part,
  splitStream,
} from "../../mod.ts";
import { ENGINES } from "../checksum/checksum_ways.ts";
import { noise } from "../checksum/noise.ts";
import { inPieces, partsOf } from "./oracle.ts";
import {
  assertGivenUp,
  listenersOf,
  probedSource,
  settle,
  SINK_KINDS,
  Sinks,
  SOURCE_KINDS,
} from "./probes.ts";
import { join, store, THREE } from "./scenarios.ts";

const SIZES = [3, undefined, 4];
const REASON = new Error("Enough");

Deno.test("splitStream with an aborted signal cancels the source, and does nothing else", async () => {
  for (const from of SOURCE_KINDS) {
    for (const reason of [REASON, undefined, "enough"]) {
      for (const engine of ENGINES) {
        const source = probedSource(from, [noise(9)]);
        const sinks = new Sinks("stream");
        const signal = AbortSignal.abort(reason);
        const options = { signal, engine };
        const found = await assertRejects(() =>
          splitStream(source.source, partsOf(SIZES), sinks.open, options)
        );
        assertStrictEquals(found, signal.reason);
        assertEquals([source.pulls, sinks.log], [0, []]);
        assertGivenUp(source, found);
      }
    }
  }
});

Deno.test("concatStream with an aborted signal fails with its reason, and opens nothing", async () => {
  const options = { signal: AbortSignal.abort(REASON) };
  for (const engine of ENGINES) {
    for (const isStored of [false, true]) {
      const { stream, sources } = join({
        ...{ from: "stream", engine, crc32c: "none", options },
      });
      const found = await assertRejects(() =>
        isStored ? store(stream) : Array.fromAsync(stream)
      );
      assertStrictEquals(found, REASON);
      assertEquals(sources, []);
    }
  }
});

Deno.test("splitStream aborts a sink that opens after the abort", async () => {
  for (const kind of SINK_KINDS) {
    for (const late of [".0", ".1"]) {
      const controller = new AbortController();
      const { signal } = controller;
      const opening = Promise.withResolvers<Part>();
      const opened = Promise.withResolvers<
        WritableStream<Uint8Array> | ByteWriter
      >();
      const aborted = Promise.withResolvers<void>();
      const sinks = new Sinks(kind, (event) => {
        if (event === `abort ${late}`) aborted.resolve();
      });
      const source = probedSource("stream", inPieces(noise(40), [2]));
      const splitting = splitStream(source.source, partsOf(SIZES), (part) => {
        if (part.keySuffix !== late) return sinks.open(part);
        opening.resolve(part);
        return opened.promise;
      }, { signal });
      const part = await opening.promise;
      controller.abort(REASON);
      assertStrictEquals(await assertRejects(() => splitting), REASON);
      opened.resolve(await sinks.open(part));
      await aborted.promise;
      await settle();
      assertStrictEquals(sinks.reasons.at(-1), REASON);
      assertEquals(sinks.written[late], []);
      sinks.assertAborted(REASON);
    }
  }
});

Deno.test("concatStream cancels a part that opens after it was cancelled or aborted", async () => {
  for (const kind of SOURCE_KINDS) {
    for (const late of [".0", ".1"]) {
      for (const isAborted of [false, true]) {
        const controller = new AbortController();
        const opening = Promise.withResolvers<void>();
        const opened = Promise.withResolvers<
          ReadableStream<Uint8Array> | ByteReader
        >();
        const lateSource = probedSource(kind, [noise(6)]);
        const stream = concatStream(partsOf(THREE), ({ keySuffix }) => {
          if (keySuffix !== late) return probedSource(kind, [noise(6)]).source;
          opening.resolve();
          return opened.promise;
        }, { signal: controller.signal });
        const reader = stream.getReader();
        const reading = (async () => {
          while (!(await reader.read()).done);
        })();
        await opening.promise;
        if (isAborted) {
          controller.abort(REASON);
          assertStrictEquals(await assertRejects(() => reading), REASON);
        } else {
          await reader.cancel(REASON);
          await reading;
        }
        opened.resolve(lateSource.source);
        await settle();
        assertGivenUp(lateSource, REASON);
        assertEquals(lateSource.pulls, 0);
      }
    }
  }
});

Deno.test("splitStream and concatStream leave no listener on their signal, however they end", async () => {
  for (const engine of ENGINES) {
    for (const length of [9, 5]) {
      const { signal } = new AbortController();
      const listeners = listenersOf(signal);
      const { source } = probedSource("stream", [noise(length)]);
      const sinks = new Sinks("stream");
      const options = { signal, engine };
      await splitStream(source, partsOf(SIZES), sinks.open, options)
        .catch(() => {});
      assert(listeners.added > 0);
      assertEquals(listeners.present, 0);
    }
    for (const end of ["end", "failure", "cancel", "stored"]) {
      const { signal } = new AbortController();
      const listeners = listenersOf(signal);
      const scenario = { from: "stream", engine, crc32c: "none" } as const;
      const { stream } = join({ ...scenario, options: { signal } }, (step) => {
        if (end === "failure" && step.name === "read .1") throw REASON;
      });
      if (end === "stored") await store(stream);
      else {
        const reader = stream.getReader();
        await reader.read();
        if (end === "cancel") await reader.cancel();
        while (await reader.read().then(({ done }) => !done, () => false));
        assertEquals(listeners.added, 1);
      }
      assertEquals(listeners.present, 0, end);
    }
  }
});
