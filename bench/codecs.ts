/** Compressors of `registerCodecs` beside zarrita's: `deno task bench codecs` */
import * as zarr from "zarrita";
import { bloscEntry } from "../src/codecs/blosc_codec.ts";
import type { ChunkMetadata } from "../src/codecs/codec.ts";
import { deflateEntry } from "../src/codecs/deflate_codec.ts";
import { lz4Entry } from "../src/codecs/lz4_codec.ts";
import { zstdEntry } from "../src/codecs/zstd_codec.ts";
import { measure } from "./measure.ts";
import type { Options } from "./options.ts";
import { GIGABYTES, type Report, type Row } from "./report.ts";
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
  /** Whether zarrita encodes it, and this package is to be as fast as zarrita. */
  readonly isWritten: boolean;
}

function blosc(cname: string, shuffle: number): Work {
  return {
    label: `blosc, ${cname}, ${shuffle === 1 ? "shuffled" : "bits shuffled"}`,
    name: "blosc",
    configuration: { cname, clevel: 5, shuffle, blocksize: 0 },
    isWritten: true,
  };
}

function leveled(name: string, level: number, isWritten: boolean): Work {
  const label = `${name}, level ${level}`;
  return { label, name, configuration: { level }, isWritten };
}

/** The levels are those of zarr-python and numcodecs if none is given. */
const WORKS: readonly Work[] = [
  leveled("zstd", 3, true),
  leveled("gzip", 5, false),
  leveled("zlib", 1, false),
  blosc("zstd", 1),
  blosc("lz4", 1),
  blosc("lz4", 2),
  {
    label: "lz4",
    name: "lz4",
    configuration: { acceleration: 1 },
    isWritten: true,
  },
];

type Convert = (bytes: Uint8Array) => Uint8Array | Promise<Uint8Array>;

/** A codec of zarrita's registry. */
interface Coder {
  encode: Convert;
  decode: Convert;
}

/** Decoding and encoding a chunk of 512 KiB. */
export async function benchCodecs(options: Options): Promise<Report> {
  const { data } = makeVolume(true);
  const bytes = new Uint8Array(data.buffer, data.byteLength / 2, SIZE);
  const goals = [{ of: NATIVE, against: [ZARRITA], bound: 1 }];
  const rows: Row[] = [];
  for (const work of WORKS) {
    const coders = Object.entries(await codersOf(work));
    const encoded = await coders[0]![1].encode(bytes);
    const decoding = coders.map(([name, coder]) => ({
      name,
      amount: SIZE,
      async run() {
        const decoded = await coder.decode(encoded);
        return decoded.length * 256 + decoded.at(-1)!;
      },
    }));
    const encoders = coders.filter(([name]) =>
      work.isWritten || name !== ZARRITA
    );
    const encoding = encoders.map(([name, coder]) => ({
      name,
      amount: SIZE,
      async run() {
        await coder.encode(bytes);
        return 0; // Encoded bytes differ between libraries.
      },
    }));
    rows.push({
      labels: [`decode ${work.label}`],
      timings: await measure(decoding, options),
      goals,
    }, {
      labels: [`encode ${work.label}`],
      timings: await measure(encoding, options),
      ...work.isWritten && { goals },
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

async function codersOf(
  { name, configuration }: Work,
): Promise<Record<string, Coder>> {
  const metadata: ChunkMetadata = {
    dataType: "uint16",
    shape: [SIZE / 2],
    codecs: [{ name: "bytes" }, { name }],
  };
  const loadZstd = ZARRITA_CODECS.get("zstd")!;
  const entryOf = (...native: [] | [() => null]) => {
    switch (name) {
      case "zstd":
        return zstdEntry(name, loadZstd, ...native);
      case "blosc":
        return bloscEntry(name, loadZstd, ...native);
      case "lz4":
        return lz4Entry(name);
      default:
        return deflateEntry(name, ...native);
    }
  };
  const theirs = await ZARRITA_CODECS.get(name)!() as {
    fromConfig(configuration: object): Coder;
  };
  return {
    [NATIVE]: entryOf().fromConfig(configuration, metadata) as Coder,
    [PORTABLE]: entryOf(() => null).fromConfig(
      configuration,
      metadata,
    ) as Coder,
    [ZARRITA]: theirs.fromConfig(configuration),
  };
}
