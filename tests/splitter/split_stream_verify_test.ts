import { assertEquals, assertRejects } from "@std/assert";
import {
  ChecksumError,
  PartSizeError,
  type SplitOptions,
  splitStream,
} from "../../mod.ts";
import { ENGINES } from "../checksum/checksum_ways.ts";
import { crc32cBitByBit } from "../checksum/crc32c_oracle.ts";
import { noise } from "../checksum/noise.ts";
import { KINDS, probedSource, Sinks } from "./stream_probes.ts";
import {
  inPieces,
  joined,
  partsOf,
  type Sizes,
  sum,
  WINDOW,
  withChecksum,
} from "./stream_support.ts";

const LAYOUTS: Sizes[] = [
  [undefined],
  [undefined, 4],
  [undefined, 5],
  [2, undefined, 1],
  [1, undefined, 1, 2],
];

function written(sinks: Sinks): number[] {
  return Object.values(sinks.written).flat();
}

for (const sizes of LAYOUTS) {
  Deno.test(
    `splitStream finds each bit that is not as the checksum says, and writes the last four bytes nowhere, with sizes ${
      sizes.map(String)
    }`,
    async () => {
      const chunk = withChecksum(noise(6));
      for (let bit = 0; bit < 80; bit++) {
        const wrong = chunk.slice();
        wrong[bit >> 3]! ^= 1 << (bit & 7);
        const isKnown = bit % 2 === 0;
        const options: SplitOptions = {
          crc32c: "verify",
          engine: ENGINES[bit % 3],
          chunkSize: isKnown ? 10 : undefined,
          key: "/c/0",
        };
        const from = KINDS[bit % 5 % 2]!;
        const pieces = inPieces(wrong, [1 + bit % 11]);
        const source = probedSource(from, pieces);
        const sinks = new Sinks(bit % 7 < 3 ? "stream" : "writer");
        const error = await assertRejects(
          () => splitStream(source.source, partsOf(sizes), sinks.open, options),
          ChecksumError,
          'Chunk "/c/0" has the CRC32C 0x',
        );
        assertEquals([error.key, error.expected, error.actual], [
          "/c/0",
          new DataView(wrong.buffer).getUint32(6, true),
          crc32cBitByBit(wrong.slice(0, 6)),
        ]);
        const withheld = isKnown
          ? 4
          : Math.max(4, sum(sizes.slice(sizes.indexOf(undefined))));
        assertEquals(written(sinks), [...wrong.slice(0, 10 - withheld)]);
        const opened = sinks.log.filter((entry) => entry.startsWith("open"));
        assertEquals(
          sinks.log.slice(opened.length),
          opened.map((entry) => entry.replace("open", "abort")),
        );
      }
    },
  );
}

Deno.test("splitStream writes the last four bytes nowhere where every part has a size", async () => {
  const wrong = withChecksum(noise(6));
  wrong[0]! ^= 1;
  for (const from of KINDS) {
    for (const sizes of [[10], [3, 7], [8, 2], [6, 4], [6, 1, 1, 2]]) {
      const sinks = new Sinks("writer");
      const { source } = probedSource(from, inPieces(wrong, [3]));
      await assertRejects(
        () =>
          splitStream(source, partsOf(sizes), sinks.open, { crc32c: "verify" }),
        ChecksumError,
      );
      assertEquals(written(sinks), [...wrong.slice(0, 6)]);
      const closed = sinks.log.filter((entry) => entry.startsWith("close"));
      assertEquals(closed, []);
    }
  }
});

for (let length = 0; length < 4; length++) {
  Deno.test(`splitStream refuses a chunk of ${length} bytes, too short for its checksum`, async () => {
    for (const sizes of [[undefined], [length]]) {
      const sinks = new Sinks("writer");
      const { source } = probedSource("stream", [noise(length)]);
      const error = await assertRejects(
        () =>
          splitStream(source, partsOf(sizes), sinks.open, { crc32c: "verify" }),
        PartSizeError,
      );
      assertEquals(
        error.message,
        `Chunk is ${length} bytes long, where the checksum at its end takes 4`,
      );
      assertEquals([error.expected, error.actual], [4, length]);
      assertEquals(sinks.log, []);
    }
  });
}

Deno.test("splitStream takes a chunk that is nothing but its checksum", async () => {
  const sinks = new Sinks("writer");
  const { source } = probedSource("stream", [withChecksum(noise(0))]);
  const report = await splitStream(
    source,
    partsOf([undefined, 3]),
    sinks.open,
    {
      crc32c: "verify",
    },
  );
  assertEquals(sinks.written, { ".0": [0], ".1": [0, 0, 0] });
  assertEquals(report.crc32c, crc32cBitByBit(new Uint8Array(4)));
});

Deno.test("splitStream with compute takes a chunk with a wrong checksum", async () => {
  for (const crc32c of ["none", "compute"] as const) {
    const sinks = new Sinks("stream");
    const { source } = probedSource("stream", [noise(9)]);
    await splitStream(source, partsOf([undefined, 4]), sinks.open, { crc32c });
    assertEquals(written(sinks), [...noise(9)]);
  }
});

Deno.test("splitStream finds one bit that is wrong in megabytes, wherever it is", async () => {
  const chunk = withChecksum(noise(2.5 * WINDOW));
  for (const [i, place] of [0, WINDOW, chunk.length - 1].entries()) {
    for (const from of KINDS) {
      const wrong = chunk.slice();
      wrong[place]! ^= 0x80;
      const kept: Uint8Array[] = [];
      const { source } = probedSource(from, inPieces(wrong, [WINDOW - 1]));
      await assertRejects(
        () =>
          splitStream(
            source,
            partsOf([10, undefined]),
            () =>
              new WritableStream({ write: (piece) => void kept.push(piece) }),
            { crc32c: "verify", engine: ENGINES[i] },
          ),
        ChecksumError,
      );
      assertEquals(joined(kept).length, chunk.length - 4);
    }
  }
});
