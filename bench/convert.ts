/** Converts and recodes arrays beside `cp -r` and `zarrs_reencode`: `deno task bench convert recode` */
import {
  convert,
  convertInPlace,
  type ConvertInPlaceOptions,
  type ConvertOptions,
  type Recoding,
} from "../jobs.ts";
import {
  arrayMetadata,
  createArrayChunks,
  encodeShard,
  FileSystemStore,
  parseShardLayout,
} from "../mod.ts";
import { MIB, randomBytes } from "./data.ts";
import {
  command,
  type Folder,
  freeSpace,
  loadText,
  makeFolders,
  removeFolders,
  settle,
} from "./folders.ts";
import { type Contestant, type Effort, measure } from "./measure.ts";
import type { Options } from "./options.ts";
import {
  type Comparison,
  GIGABYTES,
  type Goal,
  type Report,
  type Row,
  sizeText,
} from "./report.ts";
import { createVolume, writeVolume } from "./volume_arrays.ts";
import { makeVolume } from "./volume_data.ts";

const OURS = "convert";
const COPY = "cp -r";
const CUT = "in place, to parts";
const JOIN = "in place, back";
/** The converter of zarrs, which decodes and encodes chunks. */
const ZARRS = "zarrs_reencode";

/** The number of shards. */
const SHARDS = 16;
const PARTS: ConvertInPlaceOptions = { parts: ["", ".index"] };
const PLAIN: ConvertInPlaceOptions = { plain: true };

/** Arrays of 256 MiB in memory and on disk. */
export async function benchConvert(options: Options): Promise<Report> {
  const shard = options.quick ? MIB : 16 * MIB;
  const effort: Effort = { ...options, least: 3, warmUps: 1 };
  const folders = await makeFolders(options.disk);
  try {
    const comparisons: Comparison[] = [];
    for (const folder of folders) {
      comparisons.push(await measureCopies(folder, shard, effort));
    }
    return {
      comparisons,
      note: `Shards of ${
        sizeText(shard)
      }, whose checksums of indexes are verified, each time into a new folder. All contestants read a source that is in the page cache if it fits, and none waits until its bytes are on the disk (no fsync); on disk, what the run before has written is synced before the next one starts. In place, a block of each shard or index is freed: a disk that is mounted with the option discard may take milliseconds for each. ${loadText()}`,
    };
  } finally {
    await removeFolders(folders);
  }
}

async function measureCopies(
  folder: Folder,
  shard: number,
  effort: Effort,
): Promise<Comparison> {
  const size = SHARDS * shard;
  const title = `${sizeText(size)} in ${SHARDS} shards ${folder.description}`;
  const free = await freeSpace(folder.path);
  if (free !== undefined && free < 3.5 * size) {
    const heads = ["Work"];
    return {
      title: `${title}: too little room`,
      heads,
      unit: GIGABYTES,
      rows: [],
    };
  }
  const source = `${folder.path}/source`;
  const target = `${folder.path}/target`;
  const prepare = async () => {
    await remove(target);
    await settle(folder);
  };
  const contestant = (
    name: string,
    run: () => Promise<unknown>,
    before = () => Promise.resolve(),
  ): Contestant => ({
    name,
    amount: size,
    async prepare() {
      await before();
      await prepare();
    },
    async run() {
      await run();
      return size;
    },
  });
  const row = async (
    label: string,
    from: ConvertOptions,
    to: ConvertOptions,
    others: readonly Contestant[] = [],
    goals: readonly Goal[] = [],
  ): Promise<Row> => {
    await makeArray(source, shard, from);
    const timings = await measure([
      contestant(COPY, () => command("cp", ["-r", source, target])),
      contestant(OURS, () => convertFolder(source, target, to)),
      ...others,
    ], effort);
    const goal = { of: OURS, against: [COPY], bound: 0.9 };
    return { labels: [label], timings, goals: [goal, ...goals] };
  };
  const inPlace = async (options: ConvertInPlaceOptions) => {
    await convertInPlace(new FileSystemStore(source), options);
  };
  const rows = [
    await row("to parts", {}, PARTS, [
      contestant(CUT, () => inPlace(PARTS), () => inPlace(PLAIN)),
      contestant(JOIN, () => inPlace(PLAIN), () => inPlace(PARTS)),
    ], [CUT, JOIN].map((of) => ({ of, against: [COPY], bound: 50 }))),
    await row("from parts", PARTS, PLAIN),
    await row("other keys", {}, { suffix: ".shard" }),
  ];
  await prepare();
  await remove(source);
  return { title, heads: ["Work"], unit: GIGABYTES, rows };
}

/** Makes an array of shards of random bytes in a folder, in place of what is there. */
async function makeArray(
  folder: string,
  shard: number,
  layout: ConvertOptions,
): Promise<void> {
  await remove(folder);
  const inner = shard / 64;
  const metadata = arrayMetadata({
    shape: [SHARDS * shard],
    dataType: "uint8",
    shardShape: [shard],
    chunkShape: [inner],
    ...layout.parts && { parts: layout.parts },
  });
  const store = new FileSystemStore(folder);
  const chunks = await createArrayChunks(store, "", metadata);
  const shards = parseShardLayout(metadata.codecs[0], chunks.chunkShape);
  const bytes = Array.from({ length: 64 }, () => randomBytes(inner));
  for (let i = 0; i < SHARDS; i++) {
    await chunks.set([i], encodeShard(bytes, shards));
  }
}

/** A row of the table of recoding: from which encoding to which. */
interface Work {
  readonly label: string;
  readonly from: Recoding;
  readonly to: Recoding & { readonly chunks: readonly number[] };
  /** The level of zstd of the target, for `zarrs_reencode`; `null` for no codec. */
  readonly level: number | null;
}

const cube = (length: number) => [length, length, length];

/** @param scale The length of an array along each dimension, divided by 512. */
function worksOf(scale: number): Work[] {
  const [chunk, shard] = [cube(64 * scale), cube(256 * scale)];
  const toZstd = { codecs: "zstd:3", chunks: chunk, shards: shard };
  const single = { shards: null };
  return [{
    label: "no codec to zstd:3 in shards",
    from: { codecs: "none", chunks: chunk, ...single },
    to: toZstd,
    level: 3,
  }, {
    label: "blosc:lz4 to zstd:3, the same shards",
    from: { codecs: "blosc:lz4", chunks: chunk, shards: shard },
    to: toZstd,
    level: 3,
  }, {
    label: "small chunks to larger ones in shards, zstd:3",
    from: { codecs: "zstd:1", chunks: cube(32 * scale), ...single },
    to: { ...toZstd, shards: cube(128 * scale) },
    level: 3,
  }, {
    label: "planes to cubes in shards, zstd:3",
    from: {
      codecs: "zstd:1",
      chunks: [1, 512 * scale, 512 * scale],
      ...single,
    },
    to: toZstd,
    level: 3,
  }, {
    label: "zstd to no codec, the same chunks",
    from: { codecs: "zstd:1", chunks: chunk, ...single },
    to: { codecs: "none", chunks: chunk, ...single },
    level: null,
  }, {
    label: "other shards alone",
    from: { codecs: "zstd:0", chunks: chunk, shards: shard },
    to: { chunks: chunk, shards: cube(128 * scale) },
    level: 0,
  }];
}

/** A volume of 256 MiB, in memory if there is a folder in memory. */
export async function benchRecode(options: Options): Promise<Report> {
  const effort: Effort = { ...options, least: 3, warmUps: 1 };
  const folders = await makeFolders(options.disk);
  try {
    const { path, description } = folders[0]!;
    const [volume, source, target] = ["volume", "source", "target"]
      .map((name) => `${path}/${name}`) as [string, string, string];
    const { data, layouts } = makeVolume(options.quick);
    await createVolume(volume, layouts.plain!);
    await writeVolume(volume, layouts.plain!, data);
    const hasZarrs = await command(ZARRS, ["--version"])
      .then(() => true, () => false);
    const contestant = (
      name: string,
      run: () => Promise<unknown>,
    ): Contestant => ({
      name,
      amount: data.byteLength,
      prepare: () => remove(target),
      async run() {
        await run();
        return 0; // Encoded bytes differ between libraries.
      },
    });
    const rows: Row[] = [];
    for (
      const { label, from, to, level } of worksOf(options.quick ? 0.25 : 1)
    ) {
      await remove(source);
      await convertFolder(volume, source, { recode: from });
      const contestants = [
        contestant(OURS, () => convertFolder(source, target, { recode: to })),
      ];
      if (hasZarrs) {
        const codecs = level === null
          ? []
          : [{ name: "zstd", configuration: { level, checksum: false } }];
        const args = [
          ...["--bytes-to-bytes-codecs", JSON.stringify(codecs)],
          ...["--chunk-shape", to.chunks.join(",")],
          ...to.shards ? ["--shard-shape", to.shards.join(",")] : [],
        ];
        contestants.push(
          contestant(ZARRS, () => command(ZARRS, [...args, source, target])),
        );
      }
      rows.push({
        labels: [label],
        timings: await measure(contestants, effort),
        goals: [{ of: OURS, against: [ZARRS], bound: 1 }],
      });
    }
    return {
      comparisons: [{
        title: `${sizeText(data.byteLength)} of uint16 ${description}`,
        heads: ["Work"],
        unit: GIGABYTES,
        rows,
      }],
      note:
        `Sources are in memory, and each target is a new folder. ${OURS} runs in the process of the benchmark, with the start of its threads; ${ZARRS} is started each time, and is measured if it is on PATH (cargo install zarrs_tools). ${loadText()}`,
    };
  } finally {
    await removeFolders(folders);
  }
}

async function convertFolder(
  from: string,
  to: string,
  options: ConvertOptions,
): Promise<void> {
  await convert(new FileSystemStore(from), new FileSystemStore(to), options);
}

/** Removes a folder, if it is there. */
async function remove(folder: string): Promise<void> {
  await Deno.remove(folder, { recursive: true }).catch(() => {});
}
