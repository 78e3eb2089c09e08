import { assertEquals } from "@std/assert";
import { type SplitOptions, splitStream } from "../../mod.ts";
import { ENGINES } from "../checksum/checksum_ways.ts";
import { noise } from "../checksum/noise.ts";
import { KINDS, probedSource, Sinks } from "./stream_probes.ts";
import {
  cutSlowly,
  inPieces,
  partsOf,
  type Sizes,
  slowReport,
} from "./stream_support.ts";

const TO = ["stream", "writer"] as const;

/** The orders in which parts of such sizes are opened and closed. */
const ORDERS: [Sizes, number[], number[]][] = [
  [[2, 3, undefined, 4, 1], [0, 1, 2, 3, 4], [2, 0, 1, 3, 4]],
  [[undefined, 2], [0, 1], [0, 1]],
  [[2, undefined], [0, 1], [1, 0]],
  [[3, 4, 5], [0, 1, 2], [0, 1, 2]],
  [[0, undefined, 0], [0, 1, 2], [1, 0, 2]],
];

for (const [sizes, opened, closed] of ORDERS) {
  Deno.test(`splitStream opens parts of sizes ${sizes.join()} in their order, then closes the unsized one first`, async () => {
    for (const from of KINDS) {
      for (const to of TO) {
        const chunk = noise(12);
        const sinks = new Sinks(to);
        const { source } = probedSource(from, inPieces(chunk, [5]));
        await splitStream(source, partsOf(sizes), sinks.open);
        assertEquals(sinks.log, [
          ...opened.map((part) => `open .${part}`),
          ...closed.map((part) => `close .${part}`),
        ]);
        const parts = cutSlowly(chunk, sizes).map((part) => [...part]);
        assertEquals(Object.values(sinks.written), parts);
      }
    }
  });
}

Deno.test("splitStream opens a part when its first byte comes, and one without bytes with the next", async () => {
  const sinks = new Sinks("writer");
  const opened: number[] = [];
  const wait = Promise.withResolvers<void>();
  const source = probedSource("reader", inPieces(noise(8), [1]), (piece) => {
    opened.push(sinks.log.length);
    return piece === 4 ? wait.promise : undefined;
  });
  const open: typeof sinks.open = (part) => {
    // The source gives no more before the fourth byte has opened its part.
    if (part.keySuffix === ".2") wait.resolve();
    return sinks.open(part);
  };
  await splitStream(source.source, partsOf([3, 0, 3, undefined]), open);
  // Three bytes are of the first part, the fourth opens two more.
  assertEquals(opened.slice(0, 4).every((count) => count <= 1), true);
  assertEquals(sinks.written, {
    ".0": [...noise(8).slice(0, 3)],
    ".1": [],
    ".2": [...noise(8).slice(3, 6)],
    ".3": [...noise(8).slice(6)],
  });
});

Deno.test("splitStream opens no part before all parts before it are written", async () => {
  const events: string[] = [];
  const sinks = new Sinks("writer", (event) => void events.push(event));
  const { source } = probedSource("reader", [noise(9)]);
  await splitStream(source, partsOf([2, 3, undefined]), sinks.open);
  assertEquals(events.slice(0, 6), [
    "open .0",
    "write .0",
    "open .1",
    "write .1",
    "open .2",
    "write .2",
  ]);
});

for (const sizes of [[undefined], [0, undefined, 0], [0], [0, 0]]) {
  Deno.test(`splitStream makes empty parts of sizes ${sizes.map(String)} of an empty chunk`, async () => {
    for (const from of KINDS) {
      for (const chunkSize of [undefined, 0]) {
        for (const engine of ENGINES) {
          const sinks = new Sinks("stream");
          const progress: number[] = [];
          const report = await splitStream(
            probedSource(from, []).source,
            partsOf(sizes),
            sinks.open,
            {
              chunkSize,
              engine,
              crc32c: "compute",
              onProgress: (size) => progress.push(size),
            },
          );
          assertEquals(report, slowReport(cutSlowly(noise(0), sizes), true));
          assertEquals(sinks.log.length, 2 * sizes.length);
          assertEquals(Object.values(sinks.written), sizes.map(() => []));
          assertEquals(progress, []);
        }
      }
    }
  });
}

Deno.test("splitStream reports no checksums where none are asked for", async () => {
  for (const options of [{}, { crc32c: "none" }, { crc32c: undefined }]) {
    const { source } = probedSource("stream", [noise(5)]);
    const sinks = new Sinks("stream");
    const report = await splitStream(
      source,
      partsOf([2, undefined]),
      sinks.open,
      options as SplitOptions,
    );
    assertEquals(report, {
      size: 5,
      parts: [{ keySuffix: ".0", size: 2 }, { keySuffix: ".1", size: 3 }],
    });
  }
});
