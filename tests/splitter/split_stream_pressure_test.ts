import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import { splitStream } from "../../mod.ts";
import { ENGINES } from "../checksum/checksum_ways.ts";
import { noise } from "../checksum/noise.ts";
import {
  instancesInUse,
  KINDS,
  never,
  probedSource,
  settle,
  Sinks,
} from "./stream_probes.ts";
import { inPieces, partsOf } from "./stream_support.ts";

const SIZES = [3, undefined, 4];
const REASON = new Error("Enough");

for (const [event, before] of [["write .0", 0], ["write .1", 3]] as const) {
  Deno.test(`splitStream asks for a few pieces only while ${event} stalls, and for the rest afterwards`, async () => {
    for (const from of KINDS) {
      for (const to of ["stream", "writer"] as const) {
        for (const engine of ENGINES) {
          const stalled = Promise.withResolvers<void>();
          const wait = Promise.withResolvers<void>();
          const source = probedSource(from, inPieces(noise(60), [1]));
          const sinks = new Sinks(to, (happening) => {
            if (happening !== event) return;
            stalled.resolve();
            return wait.promise;
          });
          const splitting = splitStream(
            source.source,
            partsOf(SIZES),
            sinks.open,
            { chunkSize: 60, engine, crc32c: "compute" },
          );
          await stalled.promise;
          await settle();
          assertEquals(source.pulls <= before + 5, true, `${source.pulls}`);
          assertEquals(Object.values(sinks.written).flat().length, before);
          wait.resolve();
          await splitting;
          assertEquals(
            Object.values(sinks.written).flat(),
            [...noise(60)],
          );
        }
      }
    }
  });
}

Deno.test("splitStream rejects at once if it is aborted while a sink stalls, and aborts all", async () => {
  for (const from of KINDS) {
    for (const to of ["stream", "writer"] as const) {
      const controller = new AbortController();
      const stalled = Promise.withResolvers<void>();
      const source = probedSource(from, inPieces(noise(60), [1]));
      const sinks = new Sinks(to, (happening) => {
        if (happening !== "write .1") return;
        stalled.resolve();
        return never();
      });
      const told: AbortSignal[] = [];
      const splitting = splitStream(source.source, partsOf(SIZES), (part) => {
        if (to === "writer" || part.keySuffix !== ".1") return sinks.open(part);
        return new WritableStream({
          write(_, { signal }) {
            told.push(signal);
            stalled.resolve();
            return never();
          },
        });
      }, { signal: controller.signal });
      await stalled.promise;
      await settle();
      controller.abort(REASON);
      const found = await assertRejects(() => splitting);
      assertStrictEquals(found, REASON);
      assertEquals(source.ends, [from === "reader" ? "closed" : REASON]);
      if (to === "stream") {
        assertEquals(sinks.log, ["open .0", "abort .0"]);
        assertStrictEquals(told[0]!.reason, REASON);
      } else {
        assertEquals(sinks.log, ["open .0", "open .1", "abort .0", "abort .1"]);
      }
    }
  }
});

Deno.test("splitStream fails with the error of a stream that fails by itself while the source stalls", async () => {
  const failures: ((error: Error) => void)[] = [];
  const stalled = Promise.withResolvers<void>();
  const source = probedSource("stream", inPieces(noise(9), [4]), (piece) => {
    if (piece !== 2) return;
    stalled.resolve();
    return never();
  });
  const sinks = new Sinks("stream");
  const splitting = splitStream(
    source.source,
    partsOf([3, undefined]),
    (part) =>
      part.keySuffix === ".1" ? sinks.open(part) : new WritableStream({
        start: (controller) =>
          void failures.push((error) => controller.error(error)),
      }),
  );
  await stalled.promise;
  await settle();
  failures[0]!(REASON);
  const found = await assertRejects(() => splitting);
  assertStrictEquals(found, REASON);
  assertEquals(sinks.log, ["open .1", "abort .1"]);
  assertEquals(source.ends, [REASON]);
});

Deno.test("splitStream takes its memory back from a writer that stalls no sooner than that is done with it", async () => {
  const windows = instancesInUse();
  const wait = Promise.withResolvers<void>();
  const given: Uint8Array[] = [];
  const controller = new AbortController();
  const splitting = splitStream(
    probedSource("reader", [noise(9)]).source,
    partsOf([undefined]),
    () => ({
      async write(bytes) {
        given.push(bytes);
        controller.abort(REASON);
        await wait.promise;
        return bytes.length;
      },
      close: () => {},
    }),
    { engine: "wasm", crc32c: "compute", signal: controller.signal },
  );
  await assertRejects(() => splitting);
  await settle();
  assertEquals(instancesInUse(), windows + 1);
  assertEquals(given[0], noise(9));
  wait.resolve();
  await settle();
  assertEquals(instancesInUse(), windows);
});
