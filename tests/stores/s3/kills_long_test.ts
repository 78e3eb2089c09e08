/**
 * Programs that are killed while they write chunks of several objects to a bucket, and
 * servers that are killed meanwhile.
 */
import { assert, assertEquals } from "@std/assert";
import {
  recover,
  type Store,
  type StoreKey,
  UnfinishedWriteError,
} from "../../../mod.ts";
import { S3Store } from "../../../s3.ts";
import { exclusively } from "../../../src/stores/locks.ts";
import { startProgram } from "../../support/deno_program.ts";
import { testWith } from "../../support/tools.ts";
import {
  chunkOf,
  KEYS,
  PARTS,
  type Work,
  writeOf,
} from "./bucket_writer_program.ts";
import {
  BUCKET_PROGRAMS,
  type BucketProgram,
  type BucketServer,
} from "./servers.ts";

/** The longest time that a writer writes before the kill, in milliseconds. */
const LONGEST = 300;

for (const program of BUCKET_PROGRAMS) {
  const { name, tool } = program;
  testWith(
    tool,
    `chunks in ${name} are whole after their writer was killed`,
    () => kill(program, 20, () => Promise.resolve()),
  );
  if (!program.keepsData) continue;
  testWith(
    tool,
    `chunks in ${name} are whole after the server was killed`,
    () => kill(program, 8, (server) => server.restart()),
  );
}

/** The ways to a readable chunk after a kill. */
const WAYS = ["recover", "write", "update"] as const;

async function kill(
  program: BucketProgram,
  kills: number,
  beforeKill: (server: BucketServer) => Promise<void>,
): Promise<void> {
  const server = await program.start();
  const counts = { reads: 0, unfinished: 0, journals: 0, kept: 0 };
  try {
    const below = new S3Store("s3://bucket/x", server.options);
    const store = PARTS.apply(below);
    let next = 1;
    for (const key of KEYS) await store.set(key, chunkOf(next));
    for (let i = 0; i < kills; i++) {
      const known = new Map(KEYS.map((key) => [key, next]));
      // Repetitions last until a killed server runs again.
      const options = { ...server.options, retries: 30 };
      const writer = start({ options, first: next + 1 }, known);
      await writer.hasWritten;
      const until = Date.now() + Math.random() * LONGEST;
      do {
        await Promise.all(KEYS.map(async (key) => {
          counts.reads++;
          if (await read(store, key) === undefined) counts.unfinished++;
        }));
      } while (Date.now() < until);
      await beforeKill(server);
      await writer.kill();
      const way = WAYS[i % WAYS.length]!;
      const before = await Promise.all(KEYS.map((key) => read(store, key)));
      if (way === "recover") await recover(below);
      for (const [j, key] of KEYS.entries()) {
        const last = known.get(key)!;
        next = Math.max(next, last + 1);
        if (before[j] === undefined) counts.journals++;
        if (before[j] === undefined && way === "write") {
          await store.set(key, chunkOf(last + 1));
        } else if (before[j] === undefined && way === "update") {
          // The update finds the write of the killed program, or the one before.
          await exclusively(store, key, async (locked) => {
            const write = writeOf((await locked.get(key))!);
            await locked.set!(key, chunkOf(write));
          });
        }
        let after = await read(store, key);
        if (after === undefined) {
          // A request of the killed program has come to its end only now.
          await recover(below);
          after = await read(store, key);
        }
        const message = `${key}: ${last}, ${before[j]}, ${after}, ${way}`;
        assert(after === last || after === last + 1, message);
        if (after === last) counts.kept++;
      }
      for (const key of KEYS) await store.set(key, chunkOf(next));
    }
    await recover(below);
    const left = [];
    for (const key of KEYS) left.push(await read(store, key));
    assertEquals(left, KEYS.map(() => next));
  } finally {
    await server.close();
  }
  console.log(JSON.stringify({ program: program.name, kills, ...counts }));
}

/** Reads a chunk, and tells its write; `undefined` if it is being written. */
async function read(store: Store, key: StoreKey): Promise<number | undefined> {
  try {
    return writeOf((await store.get(key))!);
  } catch (error) {
    if (error instanceof UnfinishedWriteError) return undefined;
    throw error;
  }
}

/**
 * Starts a program that writes until it is killed.
 *
 * @param known Gets the last write of each chunk that has succeeded.
 */
function start(
  work: Work,
  known: Map<StoreKey, number>,
): { readonly hasWritten: Promise<void>; kill(): Promise<void> } {
  const url = import.meta.resolve("./bucket_writer_program.ts");
  const child = startProgram(url, work);
  const { promise: hasWritten, resolve } = Promise.withResolvers<void>();
  const output = (async () => {
    await child.stdin.close();
    let rest = "";
    for await (
      const text of child.stdout.pipeThrough(new TextDecoderStream())
    ) {
      resolve();
      const lines = (rest + text).split("\n");
      rest = lines.pop()!;
      for (const line of lines) {
        const [key, write] = line.split(" ");
        known.set(key as StoreKey, Number(write));
      }
    }
    resolve();
  })();
  return {
    hasWritten,
    async kill() {
      child.kill("SIGKILL");
      await child.status;
      await output;
    },
  };
}
