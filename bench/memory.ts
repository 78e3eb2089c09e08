/** Splits and joins a chunk in memory as streams: `deno task bench memory` */
import type { Part, SplitReport } from "../mod.ts";
import {
  copyingWriter,
  drop,
  droppingStream,
  KIB,
  MIB,
  randomBytes,
  readerOf,
  streamOf,
} from "./bytes.ts";
import {
  type Comparison,
  GIGABYTES,
  type Report,
  type Row,
  sizeText,
} from "./comparison.ts";
import {
  AUTO_GOAL,
  BEFORE,
  engineContestants,
  reportNumber,
  SHARD_PARTS,
  viewsOfParts,
  type Way,
} from "./engines.ts";
import { type Contestant, measure } from "./measure.ts";
import type { Options } from "./options.ts";

/** Streams with pieces of these lengths, and what fills and takes memory, as files do. */
const PIECES = [4 * KIB, 64 * KIB, MIB, "reader"] as const;
const SIZES = [4 * KIB, 64 * KIB, MIB, 16 * MIB, 256 * MIB];
const QUICK_SIZES = [64 * KIB, 4 * MIB];

/** A run of a small chunk takes too little time, so that it is repeated up to this number of bytes. */
const RUN = 16 * MIB;

/** Splitting with the checksum in pieces of this size has a goal beside the version before. */
const GOAL_PIECE = 64 * KIB;

/** One cell of the table before the contestants are known. */
interface Case {
  readonly bytes: Uint8Array;
  readonly piece: typeof PIECES[number];
  readonly crc32c: "none" | "compute";
}

/** Splitting, without and with checksum. */
export async function benchSplit(options: Options): Promise<Report> {
  return {
    comparisons: await compare("Split", splitting, uncut, options),
    note: NOTE,
  };
}

/** Joining, without and with checksum. */
export async function benchJoin(options: Options): Promise<Report> {
  return {
    comparisons: await compare("Join", joining, unjoined, options),
    note: NOTE,
  };
}

const NOTE =
  "A chunk of unknown length with a header of 64 bytes and an index of 1,604, from streams of views in memory to streams that drop their bytes, and from readers to writers that copy them. The column `streams` is what the same streams take without the package, which is the limit.";

async function compare(
  task: string,
  work: (way: Way, item: Case) => () => Promise<number>,
  limit: (item: Case) => () => Promise<number>,
  { quick, seconds, beside }: Options,
): Promise<Comparison[]> {
  const sizes = quick ? QUICK_SIZES : SIZES;
  const data = randomBytes(sizes.at(-1)!);
  const comparisons: Comparison[] = [];
  for (const crc32c of ["none", "compute"] as const) {
    const rows: Row[] = [];
    for (const piece of PIECES) {
      // A piece that is larger than the chunk is the chunk.
      const least = piece === "reader" ? 0 : piece;
      for (const size of sizes.filter((size) => size >= least)) {
        const item: Case = { bytes: data.subarray(0, size), piece, crc32c };
        const passes = Math.ceil((quick ? MIB : RUN) / size);
        const engines = engineContestants(
          size * passes,
          beside,
          (way) => ({ run: repeat(work(way, item), passes) }),
        );
        rows.push({
          labels: [
            piece === "reader" ? piece : sizeText(piece),
            sizeText(size),
          ],
          size,
          timings: [
            ...await measure(engines, { seconds }),
            ...piece === "reader" ? [] : await measure([{
              name: "streams",
              amount: size * passes,
              run: repeat(limit(item), passes),
            }], { seconds: seconds / 8 }),
          ],
          goals: [
            AUTO_GOAL,
            ...crc32c === "compute" && piece === GOAL_PIECE
              ? [{ of: "wasm", against: [BEFORE], least: 1.15 }]
              : [],
          ],
        });
      }
    }
    comparisons.push({
      title: `${task} in memory, ${
        crc32c === "none" ? "without" : "with"
      } CRC32C`,
      heads: ["Pieces", "Chunk"],
      unit: GIGABYTES,
      rows,
    });
  }
  return comparisons;
}

function splitting({ library, engine }: Way, { bytes, piece, crc32c }: Case) {
  return async () =>
    reportNumber(
      await library.splitStream(
        sourceOf(bytes, piece),
        SHARD_PARTS,
        piece === "reader" ? copyingWriter : droppingStream,
        { engine, crc32c },
      ),
    );
}

function sourceOf(bytes: Uint8Array, piece: Case["piece"]) {
  return piece === "reader" ? readerOf(bytes) : streamOf(bytes, piece);
}

function uncut({ bytes, piece }: Case) {
  return async () => {
    await streamOf(bytes, Number(piece)).pipeTo(droppingStream());
    return bytes.length;
  };
}

function joining({ library, engine }: Way, { bytes, piece, crc32c }: Case) {
  const views = viewsOfParts(SHARD_PARTS, bytes);
  const open = ({ keySuffix }: Part) => sourceOf(views.get(keySuffix)!, piece);
  return async () => {
    let number = 0;
    const onReport = (report: SplitReport) => number = reportNumber(report);
    const size = await drop(
      library.concatStream(SHARD_PARTS, open, { engine, crc32c, onReport }),
    );
    return number + size;
  };
}

function unjoined({ bytes, piece }: Case) {
  const views = viewsOfParts(SHARD_PARTS, bytes);
  return async () => {
    let size = 0;
    for (const view of views.values()) {
      size += await drop(streamOf(view, Number(piece)));
    }
    return size;
  };
}

function repeat(run: () => Promise<number>, passes: number): Contestant["run"] {
  return async () => {
    let sum = 0;
    for (let pass = 0; pass < passes; pass++) sum += await run();
    return sum;
  };
}
