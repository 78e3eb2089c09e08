/** A program that writes chunks to a bucket until it is killed. */
import { ConcatParts, type StoreKey } from "../../../mod.ts";
import { S3Store, type S3StoreOptions } from "../../../s3.ts";

/** What the program does. */
export interface Work {
  readonly options: S3StoreOptions;
  /** The number of the first write. */
  readonly first: number;
}

/** The chunks that are written at the same time. */
export const KEYS: readonly StoreKey[] = ["/c/0", "/c/1", "/c/2", "/d/0"];

export const PARTS: ConcatParts = new ConcatParts([
  { keySuffix: "" },
  { keySuffix: ".head", size: 5 },
  { keySuffix: ".index", size: 9 },
]);

/** The chunk of a write, in which each object tells the write. */
export function chunkOf(write: number): Uint8Array {
  const text = `${write}`.padStart(5, "0");
  return new TextEncoder().encode(text.repeat(10 + write % 3).slice(0, -1));
}

/** The write that a chunk is of; an error if it is not of one write. */
export function writeOf(chunk: Uint8Array): number {
  const write = Number(new TextDecoder().decode(chunk.subarray(0, 5)));
  const expected = chunkOf(write);
  if (
    chunk.length === expected.length &&
    chunk.every((byte, i) => byte === expected[i])
  ) return write;
  throw new Error(`Mixed: ${new TextDecoder().decode(chunk)}`);
}

if (import.meta.main) {
  const { options, first }: Work = JSON.parse(Deno.args[0]!);
  const store = PARTS.apply(new S3Store("s3://bucket/x", options));
  const print = (line: string) =>
    Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
  await Promise.all(KEYS.map(async (key) => {
    for (let write = first;; write++) {
      await store.set(key, chunkOf(write));
      print(`${key} ${write}`);
    }
  }));
}
