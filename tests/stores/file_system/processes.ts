import { walk } from "@std/fs/walk";
import {
  type ArrayChunks,
  createArrayChunks,
  FileSystemStore,
} from "../../../mod.ts";
import { startProgram } from "../../support/deno_program.ts";
import { arrayMetadata, concatParts } from "../../support/metadata.ts";
import type { Work } from "./chunk_program.ts";

/** Creates an array of one dimension whose chunks have three parts. */
export async function createParts(
  folder: string,
  changes: Record<string, unknown> = {},
): Promise<ArrayChunks> {
  return await createArrayChunks(
    new FileSystemStore(folder),
    "",
    arrayMetadata({
      shape: [4],
      chunk_grid: { name: "regular", configuration: { chunk_shape: [4] } },
      storage_transformers: [
        concatParts(
          { key_suffix: ".head", size: 5 },
          { key_suffix: "" },
          { key_suffix: ".parts/tail", size: 9 },
        ),
      ],
      ...changes,
    }),
  );
}

/** A program that is ready to be killed, or to be waited for. */
export interface Program {
  kill(): Promise<void>;
  /** Waits for its end. Returns what it has printed since it was ready. */
  output(): Promise<string>;
}

/**
 * Starts a program, and waits until it has begun.
 *
 * @param spawn Starts the process: by default, one of Deno.
 */
export async function start(
  folder: string,
  work: Partial<Work> & Pick<Work, "task">,
  spawn: (work: Work) => Deno.ChildProcess = spawnInDeno,
): Promise<Program> {
  const all: Work = {
    folder,
    length: 100,
    count: 1,
    first: 0,
    step: 1,
    isEachAlone: false,
    ...work,
  };
  const child = spawn(all);
  await child.stdin.close();
  const output = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value } = await output.read();
  if (!value?.startsWith("ready\n")) throw new Error(`It has failed: ${value}`);
  return {
    async kill() {
      child.kill("SIGKILL");
      await child.status;
      await output.cancel();
    },
    async output() {
      let text = value.slice("ready\n".length);
      for (let part = await output.read(); !part.done;) {
        text += part.value;
        part = await output.read();
      }
      const { code } = await child.status;
      if (code !== 0) throw new Error(`The program ended with ${code}`);
      return text;
    },
  };
}

function spawnInDeno(work: Work): Deno.ChildProcess {
  return startProgram(import.meta.resolve("./chunk_program.ts"), work);
}

/** Folders on different disks: that of temporary files, and memory where there is a file system for it. */
export async function disks(): Promise<string[]> {
  try {
    await Deno.stat("/dev/shm");
    return [
      await Deno.makeTempDir(),
      await Deno.makeTempDir({ dir: "/dev/shm" }),
    ];
  } catch {
    return [await Deno.makeTempDir()];
  }
}

/** The paths of all temporary files in a folder and below it. */
export async function temporaryFiles(folder: string): Promise<string[]> {
  const files = await Array.fromAsync(walk(folder, { includeDirs: false }));
  return files
    .filter(({ name }) => name.startsWith(".zarr-parts-tmp-"))
    .map(({ path }) => path);
}
