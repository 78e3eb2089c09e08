/** Who copies, splits and joins the files of `bench/files.ts`. */
import { concatStream } from "../src/splitter/concat_stream.ts";
import { splitStream } from "../src/splitter/split_stream.ts";
import type { SplitOptions } from "../src/splitter/stream_options.ts";
import type { EngineName } from "../src/checksum/engine.ts";
import { FileSystemStore } from "../src/stores/file_system.ts";
import { command } from "./command.ts";
import { PARTS_MADE, PARTS_TO_JOIN } from "./shard_files.ts";
import { PARTS } from "./shard_parts.ts";

/** One way of copying, splitting or joining. */
export interface FileContestant {
  readonly name: string;
  /** The file or the files that it makes. */
  readonly makes: readonly string[];
  /** How much of the speed of `cp` it is to have at least. */
  readonly target?: number;
  run(): Promise<unknown>;
}

const COPY = ["copy"];
const TARGET = 0.95;

/** What is known of a shard file. */
export interface Shard {
  readonly size: number;
  /** The CRC32C that splitting and joining must compute. */
  readonly crc32c?: number;
}

/** All contestants, `cp` first. */
export function fileContestants(
  folder: string,
  { size, crc32c }: Shard,
): FileContestant[] {
  const path = (name: string) => `${folder}/${name}`;
  const store = new FileSystemStore(folder);

  /** Refuses a checksum that is not the shard's. */
  function check(report: { crc32c?: number }): void {
    const found = report.crc32c;
    if ([found, crc32c].includes(undefined) || found === crc32c) return;
    throw new Error(`Expected the CRC32C ${crc32c}, found ${found}`);
  }
  async function split(options: SplitOptions): Promise<void> {
    const report = await splitStream(
      await Deno.open(path("shard")),
      PARTS,
      ({ keySuffix }) => Deno.create(path(`cut${keySuffix}`)),
      options,
    );
    check(report);
  }
  async function join(options: SplitOptions): Promise<void> {
    const chunk = concatStream(
      PARTS,
      ({ keySuffix }) => Deno.open(path(`part${keySuffix}`)),
      { ...options, onReport: check },
    );
    await store.set("/copy", chunk);
  }
  const splits = (
    name: string,
    options: SplitOptions,
    target?: number,
  ): FileContestant => ({
    name: `split, ${name}`,
    makes: PARTS_MADE,
    ...target === undefined ? {} : { target },
    run: () => split({ chunkSize: size, ...options }),
  });
  const joins = (
    name: string,
    options: SplitOptions,
    target?: number,
  ): FileContestant => ({
    name: `join, ${name}`,
    makes: COPY,
    ...target === undefined ? {} : { target },
    run: () => join(options),
  });
  const shell = (script: string): FileContestant => ({
    name: script,
    makes: COPY,
    run: () => command("sh", ["-c", script], folder),
  });
  const native = { engine: "native" as EngineName };

  return [
    {
      name: "cp shard copy",
      makes: COPY,
      run: () => command("cp", ["shard", "copy"], folder),
    },
    shell("cat shard > copy"),
    shell(`cat ${PARTS_TO_JOIN.join(" ")} > copy`),
    {
      name: "Deno.copyFile",
      makes: COPY,
      run: () => Deno.copyFile(path("shard"), path("copy")),
    },
    splits("CRC32C computed", { crc32c: "compute" }, TARGET),
    splits("computed, native engine", { crc32c: "compute", ...native }),
    splits("no CRC32C", {}),
    {
      name: "split, by stores, no CRC32C",
      makes: PARTS_MADE,
      run: async () =>
        await PARTS.apply(store).set("/cut", (await store.stream("/shard"))!),
    },
    joins("CRC32C computed", { crc32c: "compute" }, TARGET),
    joins("CRC32C verified", { crc32c: "verify" }, TARGET),
    joins("computed, native engine", { crc32c: "compute", ...native }),
    joins("no CRC32C", {}),
    {
      name: "join, by stores, no CRC32C",
      makes: COPY,
      run: async () =>
        await store.set("/copy", (await PARTS.apply(store).stream("/part"))!),
    },
  ];
}
