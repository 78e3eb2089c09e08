/** Compressors of `registerCodecs` beside zarrita's: `deno task bench codecs` */
import * as zarr from "zarrita";
import { bloscEntry } from "../src/codecs/blosc_codec.ts";
import type { ChunkMetadata } from "../src/codecs/codec.ts";
import { deflateEntry } from "../src/codecs/deflate_codec.ts";
import { lz4Entry } from "../src/codecs/lz4_codec.ts";
import { zstdEntry } from "../src/codecs/zstd_codec.ts";
import { GIGABYTES, type Goal, type Report, type Row } from "./comparison.ts";
import { type Contestant, measure } from "./measure.ts";
import type { Options } from "./options.ts";
import { makeVolume } from "./volume_data.ts";

const NATIVE = "zarr-parts, node:zlib";
const PORTABLE = "zarr-parts, portable";
const ZARRITA = "zarrita";

/** zarrita's own codecs, as they are before `registerCodecs` replaces some. */
const ZARRITA_CODECS: ReadonlyMap<string, () => unknown> = new Map(
  zarr.registry,
);

/** The length of a chunk of 64³ elements of uint16. */
const SIZE = 2 * 64 ** 3;

interface Work {
  readonly label: string;
  readonly name: string;
  readonly configuration: object;
  /** Whether zarrita encodes it. */
  readonly isWritten: boolean;
  /** Whether this package is to be as fast as zarrita in both directions. */
  readonly hasGoal: boolean;
}

function blosc(cname: string, shuffle: number): Work {
  return {
    label: `blosc, ${cname}, ${shuffle === 1 ? "shuffled" : "bits shuffled"}`,
    name: "blosc",
    configuration: { cname, clevel: 5, shuffle, blocksize: 0 },
    isWritten: true,
    hasGoal: true,
  };
}

/** The levels are those of zarr-python and numcodecs if none is given. */
const WORKS: readonly Work[] = [
  {
    label: "zstd, level 3",
    name: "zstd",
    configuration: { level: 3 },
    isWritten: true,
    hasGoal: true,
  },
  ...[["gzip", 5] as const, ["zlib", 1] as const].map(([name, level]) => ({
    label: `${name}, level ${level}`,
    name,
    configuration: { level },
    isWritten: false,
    hasGoal: false,
  })),
  blosc("zstd", 1),
  blosc("lz4", 1),
  blosc("lz4", 2),
  {
    label: "lz4",
    name: "lz4",
    configuration: { acceleration: 1 },
    isWritten: true,
    hasGoal: true,
  },
];

interface Coder {
  encode(bytes: Uint8Array): Uint8Array | Promise<Uint8Array>;
  decode(bytes: Uint8Array): Uint8Array | Promise<Uint8Array>;
}

/** Decoding and encoding a chunk of 512 KiB. */
export async function benchCodecs(options: Options): Promise<Report> {
  const { data } = makeVolume(true);
  const bytes = new Uint8Array(data.buffer, data.byteLength / 2, SIZE);
  const rows: Row[] = [];
  for (const work of WORKS) {
    const coders = await codersOf(work);
    const encoded = await coders[NATIVE].encode(bytes);
    const all = Object.entries(coders);
    const goals = [atLeast(NATIVE, ZARRITA)];
    rows.push({
      labels: [`decode ${work.label}`],
      timings: await measure(
        all.map(([label, coder]) =>
          contestant(label, () => coder.decode(encoded), lastByte)
        ),
        options,
      ),
      goals,
    });
    // Encoded bytes differ between libraries.
    const encoders = all.filter(([label]) =>
      work.isWritten || label !== ZARRITA
    );
    rows.push({
      labels: [`encode ${work.label}`],
      timings: await measure(
        encoders.map(([label, coder]) =>
          contestant(label, () => coder.encode(bytes), () => 0)
        ),
        options,
      ),
      goals: work.hasGoal ? goals : [],
    });
  }
  return {
    comparisons: [{
      title: "Codecs",
      heads: ["Work"],
      unit: GIGABYTES,
      rows,
    }],
    note:
      `A chunk of 64³ elements of uint16, 512 KiB, which zstd halves, and GB of decoded bytes. \`${NATIVE}\` is what Deno and Node use, and \`${PORTABLE}\` what browsers use: zarrita's zstd, and the streams of the web for gzip and zlib, which have one level. lz4 is the same in both. zarrita's blosc takes all elements for those of 4 bytes.`,
  };
}

function atLeast(of: string, against: string): Goal {
  return { of, against: [against], least: 1 };
}

async function codersOf({ name, configuration }: Work) {
  const metadata: ChunkMetadata = {
    dataType: "uint16",
    shape: [SIZE / 2],
    codecs: [{ name: "bytes" }, { name }],
  };
  const loadTheirs = ZARRITA_CODECS.get(name)!;
  const loadZstd = ZARRITA_CODECS.get("zstd")!;
  const ours = (...native: [] | [null]): Coder =>
    (name === "zstd"
      ? zstdEntry(name, loadZstd, ...native)
      : name === "blosc"
      ? bloscEntry(name, loadZstd, ...native)
      : name === "lz4"
      ? lz4Entry(name)
      : deflateEntry(name, ...native))
      .fromConfig(configuration, metadata) as Coder;
  const theirs = await loadTheirs() as {
    fromConfig(configuration: object): Coder;
  };
  return {
    [NATIVE]: ours(),
    [PORTABLE]: ours(null),
    [ZARRITA]: theirs.fromConfig(configuration),
  } as const;
}

function contestant(
  name: string,
  work: () => Uint8Array | Promise<Uint8Array>,
  result: (bytes: Uint8Array) => number,
): Contestant {
  return { name, amount: SIZE, run: async () => result(await work()) };
}

function lastByte(bytes: Uint8Array): number {
  return bytes.length * 256 + bytes.at(-1)!;
}
