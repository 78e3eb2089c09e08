/** Programs that are killed while they write a chunk of three files. */
import { assert, assertEquals } from "@std/assert";
import {
  FileSystemStore,
  openArrayChunks,
  recover,
  UnfinishedWriteError,
} from "../../../mod.ts";
import { generationBytes, generationOf } from "./chunk_program.ts";
import { createParts, disks, start, temporaryFiles } from "./processes.ts";

const CASES = [
  { length: 100, kills: 100, longest: 30 },
  { length: 7 * 2 ** 20, kills: 40, longest: 150 },
];
/** The number of folders in which programs write at the same time. */
const LANES = 4;

for (const { length, kills, longest } of CASES) {
  Deno.test(`a chunk of ${length} bytes is whole after its writer was killed`, async () => {
    const counts = { journals: 0, temporary: 0, finished: 0, unfinished: 0 };
    const roots = await disks();
    try {
      await Promise.all(Array.from({ length: LANES }, async (_, lane) => {
        const folder = `${roots[lane % roots.length]}/${lane}`;
        await createParts(folder);
        // Random kills may all come between two writes.
        const isEnough = (i: number) =>
          i >= kills && (counts.temporary > 0 || i >= 20 * kills);
        for (let i = lane; !isEnough(i); i += LANES) {
          await killOne(folder, i, length, longest, counts);
        }
      }));
    } finally {
      for (const root of roots) await Deno.remove(root, { recursive: true });
    }
    console.log(JSON.stringify({ kills, ...counts }));
    assert(counts.temporary > 0, "No program was killed while it wrote");
  });
}

async function killOne(
  folder: string,
  i: number,
  length: number,
  longest: number,
  counts: Record<string, number>,
): Promise<void> {
  const writer = await start(folder, { task: "write", length, first: 10 * i });
  await new Promise((resolve) => setTimeout(resolve, Math.random() * longest));
  await writer.kill();

  const left = await temporaryFiles(folder);
  counts.temporary! += left.length > 0 ? 1 : 0;
  counts.journals! += left.some((path) => path.includes("journal")) ? 1 : 0;
  const chunks = await openArrayChunks(new FileSystemStore(folder));
  const read = async () => {
    const bytes = await chunks.get([0]);
    if (bytes === undefined) return;
    const generation = generationOf(bytes, length);
    assert(generation !== undefined, `A mixture of ${new Set(bytes)}`);
  };
  try {
    await read();
  } catch (error) {
    if (!(error instanceof UnfinishedWriteError)) throw error;
    counts.unfinished!++;
  }
  // Every third time the next writer is the one to finish what was begun.
  if (i % 3 === 2) {
    const next = generationBytes(250, length);
    await chunks.set([0], next);
    const found = await chunks.get([0]);
    assertEquals(generationOf(found!, length), 250);
  }
  const { written, deleted } = await recover(new FileSystemStore(folder));
  counts.finished! += written.length + deleted.length;
  await read();
  assertEquals(await temporaryFiles(folder), []);
}
