/** Splits and joins by every engine, and compares all that can be seen with the slow oracle. */
import { assert, assertEquals } from "@std/assert";
import {
  concatStream,
  FileSystemStore,
  type SplitOptions,
  splitStream,
} from "../../mod.ts";
import { ENGINES } from "../checksum/checksum_ways.ts";
import { noise } from "../checksum/noise.ts";
import { filesIn, inTempDir } from "../stores/temp_dir.ts";
import {
  assertSameBytes,
  assertStartOf,
  cutSlowly,
  errorOf,
  joined,
  partsOf,
  placeOf,
  type Sizes,
  slowReport,
  sum,
  withChecksum,
} from "./oracle.ts";
import { collector, type SinkKind, type SourceKind, sourceOf } from "./ways.ts";

/** The modes of checksums. */
export const CHECKSUMS = ["none", "compute", "verify"] as const;

/** How a chunk is split. */
export interface SplitCase {
  readonly chunk: Uint8Array<ArrayBuffer>;
  readonly sizes: Sizes;
  readonly lengths: readonly number[];
  readonly from: SourceKind;
  readonly to: SinkKind;
  readonly chunkSize?: number | undefined;
  readonly crc32c: NonNullable<SplitOptions["crc32c"]>;
}

/** Splits a chunk by each engine, and compares the parts, the report and the progress, or the error. */
export async function checkSplit(given: SplitCase): Promise<void> {
  const { chunk, sizes, lengths, from, to, ...options } = given;
  const expected = cutSlowly(chunk, sizes);
  const error = errorOf(chunk, sizes, options);
  const report = error ?? slowReport(expected, options.crc32c);
  await inTempDir(async (folder) => {
    const errors: unknown[] = [];
    for (const engine of ENGINES) {
      const own = `${folder}/${engine}`;
      await Deno.mkdir(own);
      const source = await sourceOf(from, chunk, lengths, own);
      const sinks = collector(to, own);
      const progress: number[] = [];
      const found = await splitStream(source, partsOf(sizes), sinks.open, {
        ...options,
        engine,
        onProgress: (size) => progress.push(size),
      }).catch((error) => error);
      assertEquals(progress, [...new Set(progress)].sort((a, b) => a - b));
      const parts = await sinks.parts();
      if (error !== undefined) {
        assert(found instanceof error, `${engine}: ${found}`);
        assertEquals(sinks.closed.size, 0);
        assertStartOf(joined(parts), chunk, engine);
        errors.push([found.expected, found.message]);
        continue;
      }
      assertEquals(found, report, engine);
      assertEquals(parts.length, expected.length, engine);
      for (const [i, part] of parts.entries()) {
        assertSameBytes(part, expected[i]!, `part ${i}, ${engine}`);
      }
      assertEquals(progress.at(-1) ?? 0, chunk.length, engine);
      assertEquals(sinks.aborted.size, 0);
      const isSeen = to === "stream" || to === "writer";
      assertEquals(sinks.closed.size, isSeen ? expected.length : 0);
    }
    for (const found of errors) assertEquals(found, errors[0]);
  });
}

/** How parts are joined. */
export interface JoinCase {
  /** The real lengths of the parts, and whether the parts have a size. */
  readonly parts: readonly { length: number; isSized: boolean }[];
  readonly lengths: readonly number[];
  /** The kinds of sources, which repeat. */
  readonly from: readonly SourceKind[];
  readonly isKnown: boolean;
  readonly isStored: boolean;
  readonly crc32c: NonNullable<SplitOptions["crc32c"]>;
}

/** Joins parts by each engine, read or stored in a file, and compares the chunk, the report and the progress. */
export async function checkJoin(given: JoinCase): Promise<void> {
  const { lengths, from, isKnown, isStored, crc32c } = given;
  const sizes = given.parts.map(({ length }) => length);
  const length = sum(sizes);
  const chunk = crc32c === "verify" && length >= 4
    ? withChecksum(someNoise(length - 4))
    : someNoise(length);
  const error = errorOf(chunk, sizes, { crc32c });
  const parts = cutSlowly(chunk, sizes);
  const declared: Sizes = given.parts.map(({ length, isSized }) =>
    isSized ? length : undefined
  );
  await inTempDir(async (folder) => {
    for (const engine of ENGINES) {
      const reports: unknown[] = [];
      const progress: number[] = [];
      const stream = concatStream(
        partsOf(declared),
        (part) => {
          const place = placeOf(part);
          const kind = from[place % from.length]!;
          return sourceOf(kind, parts[place]!.slice(), lengths, folder);
        },
        {
          engine,
          crc32c,
          chunkSize: isKnown ? length : undefined,
          onReport: (report) => reports.push(report),
          onProgress: (size) => progress.push(size),
        },
      );
      const found = await (isStored ? stored(stream, folder) : read(stream))
        .catch((error) => error);
      assertEquals(progress, [...new Set(progress)].sort((a, b) => a - b));
      if (error !== undefined) {
        assert(found instanceof error, `${engine}: ${found}`);
        assertEquals(reports, []);
        continue;
      }
      assert(found instanceof Uint8Array, `${engine}: ${found}`);
      assertSameBytes(found, chunk, engine);
      assertEquals(reports, [slowReport(parts, crc32c)], engine);
      assertEquals(progress.at(-1) ?? 0, length);
    }
  });
}

/** Keeps all pieces without a copy, and looks at them after the end. */
export async function read(
  stream: ReadableStream<Uint8Array>,
): Promise<Uint8Array> {
  const pieces = await Array.fromAsync(stream);
  assert(pieces.every(({ length }) => length > 0), "A piece is empty");
  return joined(pieces);
}

async function stored(
  stream: ReadableStream<Uint8Array>,
  folder: string,
): Promise<Uint8Array> {
  const path = `${folder}/stored`;
  await new FileSystemStore(path).set("/x", stream);
  assert(stream.locked);
  assertEquals(await filesIn(path), ["x"]);
  return await Deno.readFile(`${path}/x`);
}

let longest = new Uint8Array();

/** Noise, whose start is the same for all lengths, so that it is made once. */
function someNoise(length: number): Uint8Array<ArrayBuffer> {
  if (longest.length < length) longest = noise(length);
  return longest.slice(0, length);
}
