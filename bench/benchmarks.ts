import type { Report } from "./comparison.ts";
import { benchAdopt } from "./adopt.ts";
import { benchArchives } from "./archives.ts";
import { benchChunks } from "./chunks.ts";
import { benchCodecs } from "./codecs.ts";
import { benchConvert } from "./convert.ts";
import { benchCrc32c } from "./crc32c.ts";
import { benchCrossovers } from "./crc32c_crossovers.ts";
import { benchFiles } from "./files.ts";
import { benchKeys } from "./keys.ts";
import { benchKinds } from "./kinds.ts";
import { benchJoin, benchSplit } from "./memory.ts";
import type { Options } from "./options.ts";
import { benchRead } from "./read.ts";
import { benchRecode } from "./recode.ts";
import { benchServe } from "./serve.ts";
import { benchSmall } from "./small.ts";
import { benchVolume } from "./volume.ts";

/** A benchmark that runs by its name. */
export interface Benchmark {
  readonly title: string;
  run(options: Options): Promise<Report>;
}

/** All benchmarks by name, in the order in which they run. */
export const BENCHMARKS: Readonly<Record<string, Benchmark>> = {
  keys: { title: "Chunk keys", run: benchKeys },
  crc32c: { title: "CRC32C", run: benchCrc32c },
  crossovers: { title: "Limits of CRC32C", run: benchCrossovers },
  split: { title: "Splitting in memory", run: benchSplit },
  join: { title: "Joining in memory", run: benchJoin },
  kinds: { title: "Kinds of sources and sinks", run: benchKinds },
  small: { title: "Small chunks", run: benchSmall },
  chunks: { title: "Chunks of several files", run: benchChunks },
  codecs: { title: "Codecs", run: benchCodecs },
  read: { title: "Reading with zarrita", run: benchRead },
  volume: { title: "A volume in shards", run: benchVolume },
  files: { title: "Files", run: benchFiles },
  adopt: { title: "Adopting TIFF files", run: benchAdopt },
  archives: { title: "Archives", run: benchArchives },
  convert: { title: "Converting", run: benchConvert },
  recode: { title: "Recoding", run: benchRecode },
  serve: { title: "Serving", run: benchServe },
};
