/** `zstd`, `gzip` and `zlib` of `registerCodecs` beside zarrita's: `deno task bench codecs` */
import { deflateEntry } from "../src/codecs/deflate_codec.ts";
import { zstdEntry } from "../src/codecs/zstd_codec.ts";
import { GIGABYTES, type Goal, type Report, type Row } from "./comparison.ts";
import { type Contestant, measure } from "./measure.ts";
import type { Options } from "./options.ts";
import { makeVolume } from "./volume_data.ts";
import { ZARRITA_CODECS } from "./zarrita_codecs.ts";

const NATIVE = "zarr-parts, node:zlib";
const PORTABLE = "zarr-parts, portable";
const ZARRITA = "zarrita";

/** The length of a chunk of 64³ elements of uint16. */
const SIZE = 2 * 64 ** 3;

/** The level of zarr-python and numcodecs if none is given. */
const LEVELS = { zstd: 3, gzip: 5, zlib: 1 } as const;

type Name = keyof typeof LEVELS;

interface Coder {
  encode(bytes: Uint8Array): Uint8Array | Promise<Uint8Array>;
  decode(bytes: Uint8Array): Uint8Array | Promise<Uint8Array>;
}

/** Decoding and encoding a chunk of 512 KiB. */
export async function benchCodecs(options: Options): Promise<Report> {
  const { data } = makeVolume(true);
  const bytes = new Uint8Array(data.buffer, data.byteLength / 2, SIZE);
  const rows: Row[] = [];
  for (const name of ["zstd", "gzip", "zlib"] as const) {
    const coders = await codersOf(name);
    const encoded = await coders[NATIVE].encode(bytes);
    const all = Object.entries(coders);
    rows.push({
      labels: [`decode ${name}`],
      timings: await measure(
        all.map(([label, coder]) =>
          contestant(label, () => coder.decode(encoded), lastByte)
        ),
        options,
      ),
      goals: [atLeast(NATIVE, ZARRITA)],
    });
    // zarrita encodes zstd alone. Encoded bytes differ between libraries.
    const encoders = all.filter(([label]) =>
      name === "zstd" || label !== ZARRITA
    );
    rows.push({
      labels: [`encode ${name}, level ${LEVELS[name]}`],
      timings: await measure(
        encoders.map(([label, coder]) =>
          contestant(label, () => coder.encode(bytes), () => 0)
        ),
        options,
      ),
      goals: name === "zstd" ? [atLeast(NATIVE, ZARRITA)] : [],
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
      `A chunk of 64³ elements of uint16, 512 KiB, which zstd halves, and GB of decoded bytes. \`${NATIVE}\` is what Deno and Node use, and \`${PORTABLE}\` what browsers use: zarrita's zstd, and the streams of the web for gzip and zlib, which have one level.`,
  };
}

function atLeast(of: string, against: string): Goal {
  return { of, against: [against], least: 1 };
}

async function codersOf(name: Name) {
  const configuration = { level: LEVELS[name] };
  const metadata = {
    dataType: "uint8",
    shape: [SIZE],
    codecs: [{ name: "bytes" }, { name }],
  };
  const loadTheirs = ZARRITA_CODECS.get(name)!;
  const ours = (...native: [] | [null]): Coder =>
    (name === "zstd"
      ? zstdEntry(name, loadTheirs, ...native)
      : deflateEntry(name, ...native))
      .fromConfig(configuration, metadata);
  const theirs = await loadTheirs() as {
    fromConfig(configuration: { level: number }): Coder;
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
