/**
 * Programs that are killed while they write chunks of several objects to a bucket, and
 * servers that are killed meanwhile.
 */
import { assert, assertEquals } from "@std/assert";
import { recover, type StoreKey, UnfinishedWriteError } from "../../../mod.ts";
import { S3Store } from "../../../s3.ts";
import { startProgram } from "../../support/deno_program.ts";
import { testWith } from "../../support/tools.ts";
import { KEYS, type Work } from "./bucket_writer_program.ts";
import { Chunk, THREE } from "./chunk.ts";
import {
  BUCKET_PROGRAMS,
  type BucketProgram,
  type BucketServer,
} from "./servers.ts";

/** The longest time that a writer writes before the kill, in milliseconds. */
const LONGEST = 300;
/** How often a writer of each service is killed. */
const KILLS = Number(Deno.env.get("ZARR_PARTS_KILLS") ?? 20);

for (const program of BUCKET_PROGRAMS) {
  const { name, tool } = program;
  testWith(
    tool,
    `chunks in ${name} are whole after their writer was killed`,
    () => kill(program, KILLS, () => Promise.resolve()),
  );
  if (!program.keepsData) continue;
  testWith(
    tool,
    `chunks in ${name} are whole after the server was killed`,
    () => kill(program, 8, (server) => server.restart()),
  );
}

/** The ways to a readable chunk after a kill. */
const WAYS = ["recover", "write", "check", "update"] as const;

async function kill(
  program: BucketProgram,
  kills: number,
  beforeKill: (server: BucketServer) => Promise<void>,
): Promise<void> {
  const server = await program.start();
  const counts = { reads: 0, unfinished: 0, journals: 0, kept: 0 };
  try {
    const store = new S3Store("s3://bucket/x", server.options);
    const chunks = KEYS.map((key) => new Chunk(store, THREE, key));
    let next = 1;
    for (const chunk of chunks) await chunk.write(next);
    for (let i = 0; i < kills; i++) {
      const known = new Map(KEYS.map((key) => [key, next]));
      // Repetitions last until a killed server runs again.
      const options = { ...server.options, retries: 30 };
      const writer = start({ options, first: next + 1 }, known);
      await writer.hasWritten;
      const until = Date.now() + Math.random() * LONGEST;
      do {
        await Promise.all(chunks.map(async (chunk) => {
          counts.reads++;
          if (await read(chunk) === undefined) counts.unfinished++;
        }));
      } while (Date.now() < until);
      await beforeKill(server);
      await writer.kill();
      const way = WAYS[i % WAYS.length]!;
      const before = await Promise.all(chunks.map(read));
      if (way === "recover") await recover(store);
      await Promise.all(chunks.map(async (chunk, j) => {
        const last = known.get(chunk.key)!;
        next = Math.max(next, last + 1);
        if (before[j] === undefined) {
          counts.journals++;
          if (way === "write") await chunk.write(last + 1);
          if (way === "check") await chunk.write(last + 1, () => {});
          // The update finds the write of the killed program, or the one before.
          if (way === "update") await chunk.update((number) => number!);
        }
        let after = await read(chunk);
        if (after === undefined) {
          // A request of the killed program has come to its end only now.
          await recover(store);
          after = await read(chunk);
        }
        const message = `${chunk.key}: ${last}, ${before[j]}, ${after}, ${way}`;
        assert(after === last || after === last + 1, message);
        if (after === last) counts.kept++;
      }));
      await Promise.all(chunks.map((chunk) => chunk.write(next)));
    }
    await recover(store);
    for (const chunk of chunks) assertEquals(await chunk.read(), next);
  } finally {
    await server.close();
  }
  console.log(JSON.stringify({ program: program.name, kills, ...counts }));
}

/** Reads a chunk; `undefined` if it is being written. */
async function read(chunk: Chunk): Promise<number | undefined> {
  try {
    return await chunk.read();
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
