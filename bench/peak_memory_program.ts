/**
 * Splits or joins the files of a folder once, or does nothing, and prints the
 * peak of its resident memory in bytes. `peak_memory.ts` runs this program.
 */
import {
  ConcatParts,
  concatStream,
  FileSystemStore,
  splitStream,
} from "../mod.ts";
import { SHARD_PARTS } from "./engines.ts";
import { printPeak } from "./peak_of.ts";

const [folder = "", task = ""] = Deno.args;
const store = new FileSystemStore(folder);
const parts = new ConcatParts(SHARD_PARTS.parts).apply(store);

const join = () =>
  concatStream(
    SHARD_PARTS,
    ({ keySuffix }) => Deno.open(`${folder}/part${keySuffix}`),
    { crc32c: "compute" },
  );

const tasks: Record<string, () => Promise<unknown>> = {
  "idle": async () => {},
  "split": async () =>
    await splitStream(
      await Deno.open(`${folder}/shard`),
      SHARD_PARTS,
      ({ keySuffix }) => Deno.create(`${folder}/cut${keySuffix}`),
      { crc32c: "compute" },
    ),
  "join": async () => await store.set("/copy", join()),
  "join by a pipe": async () => {
    const file = await Deno.create(`${folder}/copy`);
    await join().pipeTo(file.writable);
  },
  "split by stores": async () =>
    await parts.set("/cut", (await store.stream("/shard"))!),
  "join by stores": async () =>
    await store.set("/copy", (await parts.stream("/part"))!),
};
await tasks[task]!();
await printPeak();
