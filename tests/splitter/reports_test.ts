/** The calls of callbacks, and callbacks that throw. */
import {
  assert,
  assertEquals,
  assertRejects,
  assertStrictEquals,
} from "@std/assert";
import { concatStream, type SplitOptions, splitStream } from "../../mod.ts";
import { ENGINES } from "../checksum/checksum_ways.ts";
import { noise } from "../checksum/noise.ts";
import { inPieces, partsOf } from "./oracle.ts";
import {
  assertGivenUp,
  probedSource,
  SINK_KINDS,
  Sinks,
  SOURCE_KINDS,
} from "./probes.ts";
import { join, store } from "./scenarios.ts";

const SIZES = [3, undefined, 4];
const ERROR = new Error("No more");

Deno.test("splitStream and concatStream report no checksums unless they are asked for", async () => {
  const expected = {
    size: 5,
    parts: [{ keySuffix: ".0", size: 2 }, { keySuffix: ".1", size: 3 }],
  };
  for (const options of [{}, { crc32c: "none" }, { crc32c: undefined }]) {
    for (const engine of ENGINES) {
      const parts = partsOf([2, undefined]);
      const given = { ...options, engine } as SplitOptions;
      const { source } = probedSource("stream", [noise(5)]);
      const sinks = new Sinks("stream");
      const report = await splitStream(source, parts, sinks.open, given);
      const reports: unknown[] = [];
      await Array.fromAsync(concatStream(
        parts,
        ({ size }) => probedSource("reader", [noise(size ?? 3)]).source,
        { ...given, onReport: (report) => reports.push(report) },
      ));
      assertEquals([report, reports], [expected, [expected]]);
    }
  }
});

Deno.test("splitStream tells progress after bytes were written and before a part is closed", async () => {
  for (const from of SOURCE_KINDS) {
    for (const engine of ENGINES) {
      for (const chunkSize of [undefined, 20]) {
        const sinks = new Sinks("writer");
        const written: number[] = [];
        const told: number[] = [];
        const { source } = probedSource(from, inPieces(noise(20), [5]));
        await splitStream(source, partsOf(SIZES), sinks.open, {
          ...{ chunkSize, engine },
          onProgress(size) {
            told.push(size);
            written.push(sinks.all.length);
            assertEquals(sinks.partsOf("close"), []);
          },
        });
        assertEquals(told, written);
        assertEquals(told, [...new Set(told)].sort((a, b) => a - b));
        assertEquals(told.at(-1), 20);
        assert(told.length >= 4, `${told}`);
      }
    }
  }
});

for (const failing of [1, 4, 20]) {
  Deno.test(`splitStream fails with the error that onProgress throws at ${failing} bytes, and closes nothing`, async () => {
    for (const from of SOURCE_KINDS) {
      for (const to of SINK_KINDS) {
        for (const engine of ENGINES) {
          const source = probedSource(from, inPieces(noise(20), [1]));
          const sinks = new Sinks(to);
          const found = await assertRejects(() =>
            splitStream(source.source, partsOf(SIZES), sinks.open, {
              engine,
              onProgress(size) {
                if (size === failing) throw ERROR;
              },
            })
          );
          assertStrictEquals(found, ERROR);
          assert(sinks.log.length > 0);
          sinks.assertAborted(ERROR);
          if (failing === 1) assertGivenUp(source, ERROR);
        }
      }
    }
  });
}

Deno.test("concatStream tells progress as pieces come, up to the length of the chunk", async () => {
  for (const from of SOURCE_KINDS) {
    for (const engine of ENGINES) {
      for (const crc32c of ["none", "compute"] as const) {
        const progress: number[] = [];
        const onProgress = (size: number) => progress.push(size);
        const options = { onProgress };
        const { stream } = join({ from, engine, crc32c, options });
        await Array.fromAsync(stream);
        assertEquals(progress, [2, 4, 6, 8, 10, 12, 14, 16, 18]);
      }
    }
  }
});

for (const callback of ["onReport", "onProgress"]) {
  Deno.test(`concatStream fails with the error that ${callback} throws, read or stored`, async () => {
    for (const from of SOURCE_KINDS) {
      for (const engine of ENGINES) {
        for (const crc32c of ["none", "compute"] as const) {
          for (const isStored of [false, true]) {
            const options = {
              [callback]() {
                throw ERROR;
              },
            };
            const { stream } = join({ from, engine, crc32c, options });
            const found = await assertRejects(() =>
              isStored ? store(stream) : Array.fromAsync(stream)
            );
            assertStrictEquals(found, ERROR);
          }
        }
      }
    }
  });
}
