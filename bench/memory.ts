/** Splits and joins a chunk in memory as streams: `deno task bench split join` */
import type { Part, SplitReport } from "../mod.ts";
import {
  copyingWriter,
  drop,
  KIB,
  MIB,
  randomBytes,
  readerOf,
  SHARD_PARTS,
  streamOf,
  viewsOfParts,
} from "./data.ts";
import {
  AUTO_GOAL,
  BEFORE,
  engineContestants,
  reportNumber,
  type Way,
} from "./engines.ts";
import { measure } from "./measure.ts";
import type { Options } from "./options.ts";
import {
  type Comparison,
  GIGABYTES,
  type Report,
  type Row,
  sizeText,
} from "./report.ts";

/** Streams with pieces of these lengths, and what fills and takes memory, as files do. */
const PIECES = [64 * KIB, MIB, "reader"] as const;
const SIZES = [64 * KIB, MIB, 16 * MIB];
const QUICK_SIZES = [64 * KIB, 4 * MIB];

/** A run of a small chunk takes too little time, so that it is repeated up to this number of bytes. */
const RUN = 16 * MIB;

/** Splitting with the checksum in pieces of this size has a goal beside the version before. */
const GOAL_PIECE = 64 * KIB;

/** What a row measures. */
interface Case {
  readonly bytes: Uint8Array;
  readonly piece: typeof PIECES[number];
  readonly crc32c: "none" | "compute";
}

/** Makes the work of a row, by a version of the package and an engine or, without them, by the streams alone. */
type MakeWork = (item: Case, way?: Way) => () => Promise<number>;

/** Splitting, without and with checksum. */
export function benchSplit(options: Options): Promise<Report> {
  return compare("Split", splitting, options);
}

/** Joining, without and with checksum. */
export function benchJoin(options: Options): Promise<Report> {
  return compare("Join", joining, options);
}

async function compare(
  task: string,
  makeWork: MakeWork,
  { quick, seconds, beside }: Options,
): Promise<Report> {
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
        const repeated = (work: () => Promise<number>) => async () => {
          let sum = 0;
          for (let pass = 0; pass < passes; pass++) sum += await work();
          return sum;
        };
        const amount = size * passes;
        const timings = await measure(
          engineContestants(amount, beside, (way) => ({
            run: repeated(makeWork(item, way)),
          })),
          { seconds },
        );
        if (piece !== "reader") {
          const run = repeated(makeWork(item));
          const streams = [{ name: "streams", amount, run }];
          timings.push(...await measure(streams, { seconds: seconds / 8 }));
        }
        const hasGoal = crc32c === "compute" && piece === GOAL_PIECE;
        rows.push({
          labels: [
            piece === "reader" ? piece : sizeText(piece),
            sizeText(size),
          ],
          size,
          timings,
          goals: [
            AUTO_GOAL,
            ...hasGoal ? [{ of: "wasm", against: [BEFORE], bound: 1.15 }] : [],
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
  return {
    comparisons,
    note:
      "A chunk of unknown length with a header of 64 bytes and an index of 1,604, from streams of views in memory to streams that drop their bytes, and from readers to writers that copy them. The column `streams` is what the same streams take without the package, which is the limit.",
  };
}

const splitting: MakeWork = ({ bytes, piece, crc32c }, way) => async () => {
  const source = sourceOf(bytes, piece);
  const droppingStream = () => new WritableStream<Uint8Array>();
  if (way === undefined) {
    await (source as ReadableStream<Uint8Array>).pipeTo(droppingStream());
    return bytes.length;
  }
  const { library, engine } = way;
  const target = piece === "reader" ? copyingWriter : droppingStream;
  const options = { engine, crc32c };
  return reportNumber(
    await library.splitStream(source, SHARD_PARTS, target, options),
  );
};

const joining: MakeWork = ({ bytes, piece, crc32c }, way) => {
  const views = viewsOfParts(bytes);
  const open = ({ keySuffix }: Part) => sourceOf(views.get(keySuffix)!, piece);
  return async () => {
    if (way === undefined) {
      let size = 0;
      for (const view of views.values()) {
        size += await drop(streamOf(view, Number(piece)));
      }
      return size;
    }
    const { library, engine } = way;
    let number = 0;
    const onReport = (report: SplitReport) => number = reportNumber(report);
    const options = { engine, crc32c, onReport };
    const size = await drop(library.concatStream(SHARD_PARTS, open, options));
    return number + size;
  };
};

function sourceOf(bytes: Uint8Array, piece: Case["piece"]) {
  return piece === "reader" ? readerOf(bytes) : streamOf(bytes, piece);
}
