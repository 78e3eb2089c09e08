import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  ChecksumError,
  type ConcatOptions,
  concatStream,
  PartSizeError,
} from "../../mod.ts";
import { ENGINES } from "../checksum/checksum_ways.ts";
import { crc32cBitByBit } from "../checksum/crc32c_oracle.ts";
import { noise } from "../checksum/noise.ts";
import { KINDS, probedSource, type Source } from "./stream_probes.ts";
import {
  cutSlowly,
  inPieces,
  joined,
  partsOf,
  type Sizes,
  withChecksum,
} from "./stream_support.ts";

/** Joins parts, and gives what came before the stream failed. */
async function failing<E extends Error>(
  kind: typeof KINDS[number],
  declared: Sizes,
  parts: Uint8Array<ArrayBuffer>[],
  lengths: number[],
  options: ConcatOptions,
  // deno-lint-ignore no-explicit-any
  type: abstract new (...args: any[]) => E,
): Promise<{ error: E; received: Uint8Array; sources: Source[] }> {
  const sources: Source[] = [];
  let reports = 0;
  const stream = concatStream(partsOf(declared), () => {
    const pieces = inPieces(parts[sources.length]!, lengths);
    const source = probedSource(kind, pieces);
    sources.push(source);
    return source.source;
  }, { ...options, onReport: () => reports++ });
  const pieces: Uint8Array[] = [];
  const error = await assertRejects(async () => {
    for await (const piece of stream) pieces.push(piece);
  }, type);
  assertEquals(reports, 0);
  return { error, received: joined(pieces), sources };
}

const DECLARED = [3, undefined, 4, undefined, 0];

for (
  const [part, length] of [[0, 2], [0, 4], [2, 3], [2, 5], [4, 1]] as const
) {
  Deno.test(
    `concatStream fails where part ${part} of sizes ${
      DECLARED.map(String)
    } has ${length} bytes, and gives no byte too many`,
    async () => {
      const real = DECLARED.map((size = 5) => size);
      const right = real.slice(0, part + 1).reduce((a, b) => a + b);
      real[part] = length;
      const chunk = noise(real.reduce((a, b) => a + b));
      const parts = cutSlowly(chunk, real).map((part) => part.slice());
      for (const kind of KINDS) {
        for (const lengths of [[1], [2], [9]]) {
          for (const crc32c of ["none", "compute", "verify"] as const) {
            for (const key of [undefined, "/c/0"]) {
              const options = { crc32c, key };
              const { error, received, sources } = await failing(
                kind,
                DECLARED,
                parts,
                lengths,
                options,
                PartSizeError,
              );
              const suffix = `${key ?? ""}.${part}`;
              const size = DECLARED[part]!;
              assertEquals(
                error.message,
                `Part "${suffix}" is ${error.actual} bytes long, where its size is ${size}`,
              );
              assertEquals([error.key, error.expected], [suffix, size]);
              // Of a part too long, what was read when it was noticed.
              assert(
                length < size ? error.actual === length : error.actual > size,
              );
              assertEquals(received, chunk.slice(0, received.length));
              assert(received.length <= right);
              assertEquals(sources.length, part + 1);
              const isCut = length > size;
              const end = kind === "reader" ? "closed" : error;
              assertEquals(
                sources[part]!.ends,
                isCut || kind === "reader" ? [end] : [],
              );
            }
          }
        }
      }
    },
  );
}

for (const [chunkSize, found] of [[8, "at least 9"], [10, "9"]] as const) {
  Deno.test(`concatStream fails where 9 bytes come and chunkSize says ${chunkSize}`, async () => {
    for (const kind of KINDS) {
      for (const crc32c of ["none", "compute"] as const) {
        const { error, received } = await failing(
          kind,
          [3, undefined],
          [noise(3), noise(6, 2)],
          [1],
          { chunkSize, crc32c, key: "/c/0" },
          PartSizeError,
        );
        assertEquals(
          error.message,
          `Chunk "/c/0" is ${found} bytes long, where chunkSize says ${chunkSize}`,
        );
        assertEquals([error.key, error.expected, error.actual], [
          "/c/0",
          chunkSize,
          9,
        ]);
        assert(received.length <= chunkSize);
      }
    }
  });
}

Deno.test("concatStream finds each bit that is not as the checksum says, and gives an error instead of the last bytes", async () => {
  const chunk = withChecksum(noise(6));
  for (const sizes of [[10], [6, 4], [2, 3, 4, 1], [0, 8, 2, 0]]) {
    for (let bit = 0; bit < 80; bit++) {
      const wrong = chunk.slice();
      wrong[bit >> 3]! ^= 1 << (bit & 7);
      const { error, received } = await failing(
        KINDS[bit % 2]!,
        sizes.map((size, i) => i % 2 === 0 ? size : undefined),
        cutSlowly(wrong, sizes).map((part) => part.slice()),
        [1 + bit % 7],
        { crc32c: "verify", engine: ENGINES[bit % 3], key: "/c/0" },
        ChecksumError,
      );
      assertEquals([error.key, error.expected, error.actual], [
        "/c/0",
        new DataView(wrong.buffer).getUint32(6, true),
        crc32cBitByBit(wrong.slice(0, 6)),
      ]);
      assert(received.length < 10);
      assertEquals(received, wrong.slice(0, received.length));
    }
  }
});

for (let length = 0; length < 4; length++) {
  Deno.test(`concatStream fails where ${length} bytes come, too few for a checksum`, async () => {
    for (const kind of KINDS) {
      const { error } = await failing(
        kind,
        [undefined, undefined],
        [noise(0), noise(length)],
        [1],
        { crc32c: "verify" },
        PartSizeError,
      );
      assertEquals(
        error.message,
        `Chunk is ${length} bytes long, where the checksum at its end takes 4`,
      );
      assertEquals([error.expected, error.actual], [4, length]);
    }
  });
}

Deno.test("concatStream of a part whose size is 2^53−1 fails where it ends", async () => {
  const huge = 2 ** 53 - 1;
  const { error, received } = await failing(
    "reader",
    [huge, undefined],
    [noise(100)],
    [30],
    {},
    PartSizeError,
  );
  assertEquals([error.expected, error.actual], [huge, 100]);
  assertEquals(received, noise(100));
});
