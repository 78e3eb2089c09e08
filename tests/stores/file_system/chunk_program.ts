/** A program that writes, reads or updates one chunk of several files. */
import * as zarr from "zarrita";
import {
  FileSystemStore,
  openArrayChunks,
  UnfinishedWriteError,
} from "../../../mod.ts";
import { registerCodecs, setSharded, withZarrParts } from "../../../zarrita.ts";

/** The parameters of the program. */
export interface Work {
  readonly folder: string;
  /** Writes until it is killed, reads, or sets elements from `first` on by `step`. */
  readonly task: "write" | "read" | "update";
  /** The length of a chunk in bytes. */
  readonly length: number;
  /** The number of elements, or the fewest reads: a reader goes on until it has read chunks of many writes. */
  readonly count: number;
  readonly first: number;
  readonly step: number;
  /** Whether elements are inner chunks of their own, so that `zarr.set` loses none, either. */
  readonly isEachAlone: boolean;
}

/** A report of a reader. */
export interface Findings {
  readonly reads: number;
  readonly mixtures: number;
  /** The number of reads that said that the chunk is being written. */
  readonly unfinished: number;
  /** The number of different generations, at most 250. */
  readonly generations: number;
}

/** The bytes of a generation, from 1 to 250. Neighbours have different lengths. */
export function generationBytes(
  generation: number,
  length: number,
): Uint8Array {
  return new Uint8Array(length + generation % 7).fill(generation);
}

/** The generation of a chunk, or `undefined` for bytes of several generations. */
export function generationOf(
  bytes: Uint8Array,
  length: number,
): number | undefined {
  const generation = bytes[0]!;
  const isWhole = bytes.length === length + generation % 7 &&
    bytes.every((byte) => byte === generation);
  return isWhole ? generation : undefined;
}

async function write({ folder, length, first }: Work): Promise<void> {
  const chunks = await openArrayChunks(new FileSystemStore(folder));
  for (let i = first;; i++) {
    const bytes = generationBytes(1 + i % 250, length);
    if (i % 2 === 0) await chunks.set([0], bytes);
    else await chunks.set([0], new Blob([bytes as BlobPart]).stream());
    if (i % 9 === 8) await chunks.delete([0]);
    if (i === first) console.log("ready");
  }
}

async function read({ folder, length, count }: Work): Promise<void> {
  const chunks = await openArrayChunks(new FileSystemStore(folder));
  const generations = new Set<number | undefined>();
  let mixtures = 0;
  let unfinished = 0;
  console.log("ready");
  let reads = 0;
  // The writers may be slow.
  const isEnough = () => reads >= count && generations.size > 20;
  for (; !isEnough() && reads < 20 * count; reads++) {
    try {
      const bytes = reads % 4 === 0
        ? await new Response(await chunks.stream([0]) as BodyInit).bytes()
        : await chunks.get([0]);
      if (bytes === undefined || bytes.length === 0) continue; // Deleted.
      const generation = generationOf(bytes, length);
      if (generation === undefined) mixtures++;
      generations.add(generation);
    } catch (error) {
      if (!(error instanceof UnfinishedWriteError)) throw error;
      unfinished++;
    }
  }
  const findings: Findings = {
    reads,
    mixtures,
    unfinished,
    generations: generations.size,
  };
  console.log(JSON.stringify(findings));
}

async function update(
  { folder, count, first, step, isEachAlone }: Work,
): Promise<void> {
  registerCodecs(zarr.registry);
  const store = withZarrParts(new FileSystemStore(folder));
  const array = await zarr.open(store, { kind: "array" });
  console.log("ready");
  for (let i = first; i < count; i += step) {
    const selection = [zarr.slice(i, i + 1)];
    const value = 1 + i % 200;
    const isByZarrita = isEachAlone && (i - first) / step % 2 === 1;
    if (isByZarrita) await zarr.set(array, selection, value);
    else await setSharded(zarr, array, selection, value);
  }
}

/** Runs the program. */
export async function runWork(work: Work): Promise<void> {
  await { write, read, update }[work.task](work);
}

if (import.meta.main) await runWork(JSON.parse(Deno.args[0]!));
