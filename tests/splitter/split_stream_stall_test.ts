import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import { PartSizeError, type SplitOptions, splitStream } from "../../mod.ts";
import { noise } from "../checksum/noise.ts";
import { KINDS, never, probedSource, Sinks } from "./stream_probes.ts";
import { inPieces, partsOf, type Sizes } from "./stream_support.ts";

const ERROR = new Error("Disk full");

/** Fails to split pieces of 4 bytes of which the second never comes. */
async function failsWhileStalled(
  kind: typeof KINDS[number],
  sizes: Sizes,
  sinks: Sinks,
  options: SplitOptions = {},
): Promise<Error> {
  const pieces = inPieces(noise(12), [4]);
  const source = probedSource(
    kind,
    pieces,
    (piece) => piece === 1 ? never() : undefined,
  );
  const error = await assertRejects(
    () => splitStream(source.source, partsOf(sizes), sinks.open, options),
    Error,
  );
  assertEquals(source.ends, [kind === "reader" ? "closed" : error]);
  for (const reason of sinks.reasons) assertStrictEquals(reason, error);
  return error;
}

for (const event of ["open .0", "write .0", "open .1", "write .1"]) {
  for (const to of ["stream", "writer"] as const) {
    Deno.test(`splitStream does not wait for a source that stalls if ${event} fails, with ${to}s`, async () => {
      for (const kind of KINDS) {
        const sinks = new Sinks(to, (happening) => {
          if (happening === event) throw ERROR;
        });
        const error = await failsWhileStalled(kind, [3, undefined], sinks);
        assertStrictEquals(error, ERROR);
        const isSecond = event.endsWith(".1");
        assertEquals(
          sinks.log.includes("abort .0"),
          isSecond ||
            to === "writer" && event === "write .0",
        );
      }
    });
  }
}

Deno.test("splitStream does not wait for a source that stalls if the chunk is too long", async () => {
  for (const kind of KINDS) {
    const sinks = new Sinks("writer");
    const error = await failsWhileStalled(kind, [3], sinks);
    assertEquals(error instanceof PartSizeError, true);
    const closed = sinks.log.filter((entry) => entry.startsWith("close"));
    assertEquals(closed, []);
  }
});

Deno.test("splitStream does not wait for a source that stalls if onProgress throws", async () => {
  for (const kind of KINDS) {
    const sinks = new Sinks("stream");
    const error = await failsWhileStalled(kind, [3, undefined], sinks, {
      onProgress() {
        throw ERROR;
      },
    });
    assertStrictEquals(error, ERROR);
    assertEquals(sinks.log.at(-1), "abort .0");
  }
});

Deno.test("splitStream rejects at once if it is aborted while its first read begins", async () => {
  for (const kind of KINDS) {
    const controller = new AbortController();
    const source = probedSource(kind, [], () => {
      controller.abort(ERROR);
      return never();
    });
    const sinks = new Sinks("stream");
    const found = await assertRejects(() =>
      splitStream(source.source, partsOf([undefined]), sinks.open, {
        signal: controller.signal,
      })
    );
    assertStrictEquals(found, ERROR);
    assertEquals(sinks.log, []);
  }
});
