/** A program that writes chunks to a bucket until it is killed. */
import type { StoreKey } from "../../../mod.ts";
import { S3Store, type S3StoreOptions } from "../../../s3.ts";
import { Chunk, THREE } from "./chunk.ts";

/** What the program does. */
export interface Work {
  readonly options: S3StoreOptions;
  /** The number of the first write. */
  readonly first: number;
}

/** The chunks that are written at the same time. */
export const KEYS: readonly StoreKey[] = ["/c/0", "/c/1", "/c/2", "/d/0"];

/** Writes the next number in one of three ways. */
async function write(chunk: Chunk, number: number, way: number): Promise<void> {
  switch (way % 3) {
    case 0:
      return await chunk.write(number);
    case 1:
      return await chunk.write(number, () => {});
    default:
      return await chunk.update(() => number);
  }
}

if (import.meta.main) {
  const { options, first }: Work = JSON.parse(Deno.args[0]!);
  const store = new S3Store("s3://bucket/x", options);
  await Promise.all(KEYS.map(async (key, i) => {
    const chunk = new Chunk(store, THREE, key);
    for (let number = first;; number++) {
      // The chunks are written in different ways at the same time.
      await write(chunk, number, number + i);
      const line = new TextEncoder().encode(`${key} ${number}\n`);
      Deno.stdout.writeSync(line);
    }
  }));
}
