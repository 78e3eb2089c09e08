/** Splits and joins with each kind of source and sink in memory: `deno task bench kinds` */
import type { ByteReader, ByteWriter, Part, SplitReport } from "../mod.ts";
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
import { GIGABYTES, type Report, type Row, sizeText } from "./comparison.ts";
import {
  AUTO_GOAL,
  engineContestants,
  reportNumber,
  SHARD_PARTS,
  viewsOfParts,
  type Way,
} from "./engines.ts";
import { measure } from "./measure.ts";
import type { Options } from "./options.ts";

const SIZE = 16 * MIB;
const PIECE = 64 * KIB;

/** The options of a row. */
interface Work {
  readonly crc32c: "none" | "compute";
  readonly chunkSize?: number;
}

const SOURCES = {
  stream: (bytes: Uint8Array) => streamOf(bytes, PIECE),
  reader: readerOf,
} satisfies Record<
  string,
  (bytes: Uint8Array) => ReadableStream<Uint8Array> | ByteReader
>;
const SINKS = {
  stream: droppingStream,
  writer: copyingWriter,
} satisfies Record<string, () => WritableStream<Uint8Array> | ByteWriter>;

/** Splitting from and to streams, readers and writers; joining from streams and readers. */
export async function benchKinds(options: Options): Promise<Report> {
  const size = options.quick ? MIB : SIZE;
  const bytes = randomBytes(size);
  const rows: Row[] = [];
  async function add(
    labels: readonly string[],
    contestant: (way: Way) => () => Promise<number>,
  ): Promise<void> {
    const contestants = engineContestants(
      size,
      options.beside,
      (way) => ({ run: contestant(way) }),
    );
    const timings = await measure(contestants, options);
    rows.push({ labels, timings, goals: [AUTO_GOAL] });
  }

  for (const crc32c of ["none", "compute"] as const) {
    const checksum = crc32c === "none" ? "no" : "yes";
    for (const [source, makeSource] of Object.entries(SOURCES)) {
      for (const [sink, makeSink] of Object.entries(SINKS)) {
        for (const chunkSize of [undefined, size]) {
          const work: Work = {
            crc32c,
            ...chunkSize === undefined ? {} : { chunkSize },
          };
          await add(
            [
              `split, ${source} to ${sink}`,
              chunkSize === undefined ? "unknown" : "known",
              checksum,
            ],
            ({ library, engine }) => async () =>
              reportNumber(
                await library.splitStream(
                  makeSource(bytes),
                  SHARD_PARTS,
                  makeSink,
                  { engine, ...work },
                ),
              ),
          );
        }
      }
      const views = viewsOfParts(SHARD_PARTS, bytes);
      await add(
        [`join, ${source} to stream`, "unknown", checksum],
        ({ library, engine }) => async () => {
          let number = 0;
          const onReport = (report: SplitReport) =>
            number = reportNumber(report);
          const open = ({ keySuffix }: Part) =>
            makeSource(views.get(keySuffix)!);
          const work = { engine, crc32c, onReport };
          return await drop(library.concatStream(SHARD_PARTS, open, work)) +
            number;
        },
      );
    }
  }
  return {
    comparisons: [{
      title: `Kinds of sources and sinks, ${sizeText(size)} in memory`,
      heads: ["Work", "Length", "CRC32C"],
      unit: GIGABYTES,
      rows,
    }],
    note:
      "Streams give pieces of 64 KiB and drop what they take; readers and writers copy, as files do. The length of the chunk is told with `chunkSize` or not.",
  };
}
