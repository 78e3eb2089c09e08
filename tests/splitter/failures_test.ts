/** Failures between two steps, stalled sources, and failures while others are reported. `faults_long_test.ts` has all single steps. */
import {
  assert,
  assertEquals,
  assertRejects,
  assertStrictEquals,
} from "@std/assert";
import {
  type ByteReader,
  PartSizeError,
  type SplitOptions,
  splitStream,
} from "../../mod.ts";
import { ENGINES } from "../checksum/checksum_ways.ts";
import { noise } from "../checksum/noise.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { inPieces, partsOf, type Sizes } from "./oracle.ts";
import {
  assertGivenUp,
  never,
  probedSource,
  settle,
  SINK_KINDS,
  Sinks,
  SOURCE_KINDS,
  type SourceKind,
} from "./probes.ts";
const REASON = new Error("Enough");

/** Starts a split. Its part `.0` is a stream that `fail` lets fail by itself; the other parts are probed. */
function splitWithFailingStream(
  source: ReadableStream<Uint8Array> | ByteReader,
  sizes: Sizes,
  sinks: Sinks,
  options: SplitOptions = {},
) {
  let fail = (_: Error) => {};
  const splitting = splitStream(
    source,
    partsOf(sizes),
    (part) =>
      part.keySuffix !== ".0" ? sinks.open(part) : new WritableStream({
        start(controller) {
          fail = (error) => controller.error(error);
        },
      }),
    options,
  );
  splitting.catch(() => {});
  return { splitting, fail: (error: Error) => fail(error) };
}

Deno.test("splitStream fails with the error of a stream that fails by itself while the source stalls", async () => {
  for (const kind of SOURCE_KINDS) {
    for (const engine of ENGINES) {
      const stalled = Promise.withResolvers<void>();
      const source = probedSource(kind, inPieces(noise(9), [4]), (piece) => {
        if (piece !== 2) return;
        stalled.resolve();
        return never();
      });
      const sinks = new Sinks("stream");
      const { splitting, fail } = splitWithFailingStream(
        source.source,
        [3, undefined],
        sinks,
        { engine },
      );
      await stalled.promise;
      await settle();
      fail(REASON);
      assertStrictEquals(await assertRejects(() => splitting), REASON);
      assertEquals(sinks.log, ["open .1", "abort .1"]);
      assertGivenUp(source, REASON);
    }
  }
});

Deno.test("splitStream opens and writes nothing more after a stream has failed by itself", async () => {
  for (const engine of ENGINES) {
    const wait = Promise.withResolvers<void>();
    const sinks = new Sinks("writer", (event) => {
      if (event !== "write .1") return;
      run.fail(REASON);
      return wait.promise;
    });
    const { source } = probedSource("stream", [noise(8)]);
    const sizes = [2, 2, undefined];
    const run = splitWithFailingStream(source, sizes, sinks, { engine });
    assertStrictEquals(await assertRejects(() => run.splitting), REASON);
    wait.resolve();
    await settle();
    assertEquals(sinks.log, ["open .1", "abort .1"]);
  }
});

Deno.test("splitStream writes nothing that a reader still gives after a failure or an abort", async () => {
  for (const isAbort of [false, true]) {
    for (const engine of ENGINES) {
      const controller = new AbortController();
      const asked = Promise.withResolvers<void>();
      const wait = Promise.withResolvers<void>();
      const pieces = inPieces(noise(8), [4]);
      const source = probedSource("reader", pieces, (piece) => {
        if (piece !== 1) return;
        asked.resolve();
        return wait.promise;
      });
      const sinks = new Sinks("writer");
      const { splitting, fail } = splitWithFailingStream(
        source.source,
        [2, undefined],
        sinks,
        { signal: controller.signal, engine },
      );
      await asked.promise;
      await settle();
      if (isAbort) controller.abort(REASON);
      else fail(REASON);
      assertStrictEquals(await assertRejects(() => splitting), REASON);
      wait.resolve();
      await settle();
      assertEquals(sinks.log, ["open .1", "abort .1"]);
      assertEquals(sinks.written, { ".1": [...noise(4).slice(2)] });
    }
  }
});

/** Splits pieces of 4 bytes and returns the error. The second piece never comes. */
async function failWhileStalled(
  kind: SourceKind,
  sizes: Sizes,
  sinks: Sinks,
  options: SplitOptions = {},
): Promise<Error> {
  const source = probedSource(
    kind,
    inPieces(noise(12), [4]),
    (piece) => piece === 1 ? never() : undefined,
  );
  const error = await assertRejects(
    () => splitStream(source.source, partsOf(sizes), sinks.open, options),
    Error,
  );
  assertGivenUp(source, error);
  for (const reason of sinks.reasons) assertStrictEquals(reason, error);
  assertEquals(sinks.partsOf("close"), []);
  return error;
}

for (const event of ["open .0", "write .0", "open .1", "write .1"]) {
  for (const to of SINK_KINDS) {
    Deno.test(`splitStream does not wait for a stalled source if ${event} fails, with ${to}s`, async () => {
      for (const kind of SOURCE_KINDS) {
        for (const engine of ENGINES) {
          const sinks = new Sinks(to, (happening) => {
            if (happening === event) throw REASON;
          });
          const options = { engine };
          const sizes = [3, undefined];
          const error = await failWhileStalled(kind, sizes, sinks, options);
          assertStrictEquals(error, REASON);
          assertEquals(
            sinks.log.includes("abort .0"),
            event.endsWith(".1") || to === "writer" && event === "write .0",
          );
        }
      }
    });
  }
}

Deno.test("splitStream does not wait for a stalled source if the chunk is too long or onProgress throws", async () => {
  for (const kind of SOURCE_KINDS) {
    for (const engine of ENGINES) {
      const tooLong = await failWhileStalled(kind, [3], new Sinks("writer"), {
        engine,
      });
      assert(tooLong instanceof PartSizeError);
      const sinks = new Sinks("stream");
      const error = await failWhileStalled(kind, [3, undefined], sinks, {
        engine,
        onProgress() {
          throw REASON;
        },
      });
      assertStrictEquals(error, REASON);
      assertEquals(sinks.log.at(-1), "abort .0");
    }
  }
});

Deno.test("splitStream closes a file that it has read, or gives up", async () => {
  await inTempDir(async (folder) => {
    const path = `${folder}/chunk`;
    await Deno.writeFile(path, noise(10));
    // The test fails if a file is left open.
    for (const size of [undefined, 11, 9]) {
      for (const engine of ENGINES) {
        const sinks = new Sinks("writer");
        const file = await Deno.open(path);
        await splitStream(file, partsOf([size]), sinks.open, { engine })
          .catch(() => {});
        assertEquals(sinks.log.includes("close .0"), size === undefined);
      }
    }
  });
});
