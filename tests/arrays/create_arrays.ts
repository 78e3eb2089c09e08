/**
 * A program that creates arrays as soon as it is told to, and prints the numbers of
 * those that no other program had created before.
 */
import {
  type ArrayMetadata,
  createArrayChunks,
  FileSystemStore,
  MetadataError,
} from "../../mod.ts";

/** The parameters of the program. */
export interface Creation {
  readonly folder: string;
  readonly metadata: ArrayMetadata;
  /** The number of arrays to create. */
  readonly count: number;
}

if (import.meta.main) {
  const { folder, metadata, count }: Creation = JSON.parse(Deno.args[0]!);
  const store = new FileSystemStore(folder);
  console.log("ready");
  await Deno.stdin.read(new Uint8Array(1));
  const created: number[] = [];
  for (let i = 0; i < count; i++) {
    try {
      await createArrayChunks(store, `a/${i}`, metadata);
      created.push(i);
    } catch (error) {
      const isThere = error instanceof MetadataError &&
        error.message.includes("a node is there already");
      if (!isThere) throw error;
    }
  }
  console.log(JSON.stringify(created));
}
