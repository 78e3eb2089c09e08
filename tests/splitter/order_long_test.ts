/** When parts are opened, read, written and closed, and how far a source is read ahead. */
import { assert, assertEquals } from "@std/assert";
import { concatStream, splitStream } from "../../mod.ts";
import { ENGINES } from "../checksum/checksum_ways.ts";
import { noise } from "../checksum/noise.ts";
import {
  cutSlowly,
  inPieces,
  joined,
  partsOf,
  placeOf,
  type Sizes,
} from "./oracle.ts";
import {
  each,
  probedSource,
  settle,
  SINK_KINDS,
  Sinks,
  type Source,
  SOURCE_KINDS,
} from "./probes.ts";
import { join, JOINED } from "./scenarios.ts";

/** The places of parts in the order in which they are closed. */
const CLOSING: Record<string, { sizes: Sizes; closed: number[] }> = {
  "two parts before and two after the unsized part": {
    sizes: [2, 3, undefined, 4, 1],
    closed: [2, 0, 1, 3, 4],
  },
  "the unsized part first": { sizes: [undefined, 2], closed: [0, 1] },
  "the unsized part last": { sizes: [2, undefined], closed: [1, 0] },
  "no unsized part": { sizes: [3, 4, 5], closed: [0, 1, 2] },
  "empty parts at both ends": {
    sizes: [0, undefined, 0],
    closed: [1, 0, 2],
  },
};

each(
  (name) =>
    `splitStream with ${name} opens parts in their order, then closes the unsized part first`,
  CLOSING,
  async ({ sizes, closed }) => {
    for (const from of SOURCE_KINDS) {
      for (const to of SINK_KINDS) {
        for (const engine of ENGINES) {
          const chunk = noise(12);
          const sinks = new Sinks(to);
          const { source } = probedSource(from, inPieces(chunk, [5]));
          await splitStream(source, partsOf(sizes), sinks.open, { engine });
          assertEquals(sinks.log, [
            ...sizes.map((_, part) => `open .${part}`),
            ...closed.map((part) => `close .${part}`),
          ]);
          const parts = cutSlowly(chunk, sizes).map((part) => [...part]);
          assertEquals(Object.values(sinks.written), parts);
        }
      }
    }
  },
);

Deno.test("splitStream opens a part when its first byte comes, and an empty part with the next one", async () => {
  for (const engine of ENGINES) {
    const sinks = new Sinks("writer");
    const opened: number[] = [];
    const wait = Promise.withResolvers<void>();
    const source = probedSource("reader", inPieces(noise(8), [1]), (piece) => {
      opened.push(sinks.log.length);
      return piece === 4 ? wait.promise : undefined;
    });
    const open: typeof sinks.open = (part) => {
      // The source gives no more until the fourth byte has opened its part.
      if (part.keySuffix === ".2") wait.resolve();
      return sinks.open(part);
    };
    const parts = partsOf([3, 0, 3, undefined]);
    await splitStream(source.source, parts, open, { engine });
    // Three bytes belong to the first part; the fourth opens two more.
    assert(opened.slice(0, 4).every((count) => count <= 1));
    assertEquals(
      Object.values(sinks.written),
      cutSlowly(noise(8), [3, 0, 3, 2]).map((part) => [...part]),
    );
  }
});

Deno.test("concatStream opens a part when the part before has ended, and reports once after all", async () => {
  for (const from of SOURCE_KINDS) {
    for (const engine of ENGINES) {
      for (const crc32c of ["none", "compute"] as const) {
        const steps: string[] = [];
        const { stream, reports } = join(
          { from, engine, crc32c },
          ({ name }) => void steps.push(name),
        );
        assertEquals(joined(await Array.fromAsync(stream)), JOINED);
        // Each part is read three times, and once more for its end.
        const reads = (part: number) => Array(4).fill(`read .${part}`);
        assertEquals(
          steps,
          [0, 1, 2].flatMap((part) => [`open .${part}`, ...reads(part)]),
        );
        assertEquals(reports.length, 1);
      }
    }
  }
});

Deno.test("concatStream opens nothing before it is read, and reads few pieces ahead", async () => {
  for (const from of SOURCE_KINDS) {
    for (const engine of ENGINES) {
      // To verify, the pieces of the last four bytes are read, and one more.
      const mostAhead = { none: 0, compute: 1, verify: 2 } as const;
      for (const crc32c of ["none", "compute", "verify"] as const) {
        const sources: Source[] = [];
        const stream = concatStream(partsOf([undefined, undefined]), (part) => {
          const pieces = inPieces(noise(6, placeOf(part) + 1), [2]);
          sources.push(probedSource(from, pieces));
          return sources.at(-1)!.source;
        }, { crc32c, engine });
        await settle();
        const reader = stream.getReader();
        await settle();
        assertEquals(sources, []);
        for (let count = 1; count <= 2; count++) {
          assertEquals((await reader.read()).value?.length, 2);
          await settle();
          // The last read of a part finds its end.
          const read = sources.reduce(
            (n, { pulls }) => n + Math.min(pulls, 3),
            0,
          );
          const ahead = read - count;
          assert(ahead >= 0 && ahead <= mostAhead[crc32c], `${ahead} ahead`);
        }
        await reader.cancel();
      }
    }
  }
});
