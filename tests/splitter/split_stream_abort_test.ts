import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import { type ByteWriter, type Part, splitStream } from "../../mod.ts";
import { ENGINES } from "../checksum/checksum_ways.ts";
import { noise } from "../checksum/noise.ts";
import {
  KINDS,
  listenersOf,
  never,
  probedSource,
  settle,
  Sinks,
} from "./stream_probes.ts";
import { inPieces, partsOf } from "./stream_support.ts";

const SIZES = [3, undefined, 4];
const REASON = new Error("Enough");

Deno.test("splitStream with a signal that is aborted does nothing but cancel the source", async () => {
  for (const from of KINDS) {
    for (const reason of [REASON, undefined, "enough"]) {
      const source = probedSource(from, [noise(9)]);
      const sinks = new Sinks("stream");
      const signal = AbortSignal.abort(reason);
      const found = await assertRejects(() =>
        splitStream(source.source, partsOf(SIZES), sinks.open, { signal })
      );
      assertStrictEquals(found, signal.reason);
      assertEquals([source.pulls, sinks.log], [0, []]);
      assertEquals(source.ends, [from === "reader" ? "closed" : found]);
    }
  }
});

for (const piece of [1, 3, 8, 30]) {
  Deno.test(`splitStream whose signal is aborted while piece ${piece} of 40 is asked for aborts all that is open`, async () => {
    for (const from of KINDS) {
      for (const to of ["stream", "writer"] as const) {
        for (const engine of ENGINES) {
          const controller = new AbortController();
          const { signal } = controller;
          const pieces = inPieces(noise(40), [1]);
          const source = probedSource(from, pieces, (place) => {
            if (place === piece) controller.abort(REASON);
          });
          const sinks = new Sinks(to);
          const found = await assertRejects(() =>
            splitStream(source.source, partsOf(SIZES), sinks.open, {
              signal,
              engine,
              crc32c: "compute",
            })
          );
          assertStrictEquals(found, REASON);
          await settle();
          assertEquals(source.ends, [from === "reader" ? "closed" : REASON]);
          assertEquals(source.pulls <= piece + 2, true);
          assertAllAborted(sinks);
        }
      }
    }
  });
}

/** Every sink that was opened was aborted for the reason, and none closed. */
function assertAllAborted(sinks: Sinks): void {
  const ends = sinks.log.filter((entry) => !entry.startsWith("open"));
  const opened = sinks.log.filter((entry) => entry.startsWith("open"));
  assertEquals(
    ends,
    opened.map((entry) => entry.replace("open", "abort")),
  );
  for (const reason of sinks.reasons) assertStrictEquals(reason, REASON);
}

for (const event of ["write .0", "write .1", "open .1", "open .2"]) {
  Deno.test(`splitStream whose signal is aborted in ${event}, which then waits for ever, rejects at once`, async () => {
    for (const from of KINDS) {
      for (const to of ["stream", "writer"] as const) {
        const controller = new AbortController();
        const { signal } = controller;
        const source = probedSource(from, inPieces(noise(40), [2]));
        const sinks = new Sinks(to, (happening) => {
          if (happening !== event) return;
          controller.abort(REASON);
          return never();
        });
        const found = await assertRejects(() =>
          splitStream(source.source, partsOf(SIZES), sinks.open, {
            signal,
            chunkSize: 40,
          })
        );
        assertStrictEquals(found, REASON);
        await settle();
        if (event !== "open .2") {
          assertEquals(source.ends, [from === "reader" ? "closed" : REASON]);
        }
        const closed = sinks.log.filter((entry) => entry.startsWith("close"));
        assertEquals(closed, []);
        // What was waited for is the only one that may not have been told.
        const stuck = event.at(-1)!;
        for (const entry of sinks.log.filter((entry) => /^open/.test(entry))) {
          if (entry.endsWith(stuck)) continue;
          assertEquals(
            sinks.log.includes(entry.replace("open", "abort")),
            true,
          );
        }
      }
    }
  });
}

Deno.test("splitStream rejects at once if it is aborted while a source is waited for", async () => {
  for (const from of KINDS) {
    for (const stalling of [0, 1, 6]) {
      const controller = new AbortController();
      const { signal } = controller;
      const stalled = Promise.withResolvers<void>();
      const pieces = inPieces(noise(9), [1]);
      const source = probedSource(from, pieces, (piece) => {
        if (piece !== stalling) return;
        stalled.resolve();
        return never();
      });
      const sinks = new Sinks("stream");
      const splitting = splitStream(
        source.source,
        partsOf(SIZES),
        sinks.open,
        { signal },
      );
      await stalled.promise;
      controller.abort(REASON);
      const found = await assertRejects(() => splitting);
      assertStrictEquals(found, REASON);
      assertEquals(source.ends, [from === "reader" ? "closed" : REASON]);
      assertAllAborted(sinks);
    }
  }
});

Deno.test("splitStream aborts a sink that is opened after it was aborted", async () => {
  for (const kind of ["stream", "writer"] as const) {
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
      const found = await assertRejects(() => splitting);
      assertStrictEquals(found, REASON);
      opened.resolve(await sinks.open(part));
      await aborted.promise;
      await settle();
      assertStrictEquals(sinks.reasons.at(-1), REASON);
      assertEquals(sinks.written[late], []);
      assertAllAborted(sinks);
    }
  }
});

Deno.test("splitStream leaves no listener on its signal, however it ends", async () => {
  for (const length of [9, 5]) {
    const { signal } = new AbortController();
    const listeners = listenersOf(signal);
    const { source } = probedSource("stream", [noise(length)]);
    const sinks = new Sinks("stream");
    await splitStream(source, partsOf(SIZES), sinks.open, { signal })
      .catch(() => {});
    assertEquals(listeners.added > 0, true);
    assertEquals(listeners.present, 0);
  }
});
