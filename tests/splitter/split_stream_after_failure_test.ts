import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import { splitStream } from "../../mod.ts";
import { noise } from "../checksum/noise.ts";
import { probedSource, settle, Sinks } from "./stream_probes.ts";
import { inPieces, partsOf } from "./stream_support.ts";

const REASON = new Error("Enough");

Deno.test("splitStream opens nothing more, and writes nothing more, after a stream has failed", async () => {
  const wait = Promise.withResolvers<void>();
  let fail = (_: Error) => {};
  const sinks = new Sinks("writer", (event) => {
    if (event !== "write .1") return;
    fail(REASON);
    return wait.promise;
  });
  const { source } = probedSource("stream", [noise(8)]);
  const found = await assertRejects(() =>
    splitStream(
      source,
      partsOf([2, 2, undefined]),
      (part) =>
        part.keySuffix !== ".0" ? sinks.open(part) : new WritableStream({
          start(controller) {
            fail = (error) => controller.error(error);
          },
        }),
    )
  );
  assertStrictEquals(found, REASON);
  wait.resolve();
  await settle();
  assertEquals(sinks.log, ["open .1", "abort .1"]);
});

Deno.test("splitStream writes nothing to what it has aborted, also what a reader still gives", async () => {
  for (const isSignal of [false, true]) {
    const controller = new AbortController();
    const asked = Promise.withResolvers<void>();
    const wait = Promise.withResolvers<void>();
    const pieces = inPieces(noise(8), [4]);
    const source = probedSource("reader", pieces, (piece) => {
      if (piece !== 1) return;
      asked.resolve();
      return wait.promise;
    });
    let fail = (_: Error) => {};
    const sinks = new Sinks("writer");
    const splitting = splitStream(
      source.source,
      partsOf([2, undefined]),
      (part) =>
        part.keySuffix === ".1" ? sinks.open(part) : new WritableStream({
          start(controller) {
            fail = (error) => controller.error(error);
          },
        }),
      { signal: controller.signal },
    );
    await asked.promise;
    await settle();
    if (isSignal) controller.abort(REASON);
    else fail(REASON);
    assertStrictEquals(await assertRejects(() => splitting), REASON);
    wait.resolve();
    await settle();
    assertEquals(sinks.log, ["open .1", "abort .1"]);
    assertEquals(sinks.written, { ".1": [...noise(4).slice(2)] });
  }
});
