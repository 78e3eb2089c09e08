/**
 * Programs that are killed while they convert an array, and run again.
 */
import { assertEquals, assertRejects } from "@std/assert";
import { convert, type ConvertOptions } from "../../jobs.ts";
import {
  arrayMetadata,
  createArrayChunks,
  FileSystemStore,
  MetadataError,
  openArrayChunks,
} from "../../mod.ts";
import { disks, temporaryFiles } from "../stores/file_system/processes.ts";
import { present } from "../stores/temp_dir.ts";
import { countingBytes } from "../support/bytes.ts";
import { encodeJson, groupMetadata, utf8 } from "../support/documents.ts";
import { digestsOf } from "./digests.ts";
import { Kills, runAndKill } from "./killed_program.ts";

const KILLS = 30;

/** Chunks begin elsewhere in their files than before, so that they are streams. */
const SHIFTED: ConvertOptions = {
  suffix: ".s",
  parts: [".head:3", "", ".tail:2"],
};

/** The files of long chunks are copied by the operating system, and cut. */
const CUT: ConvertOptions = { suffix: ".s", parts: ["", ".tail:2"] };

/** Chunks are decoded, and gathered in shards. */
const RECODED: ConvertOptions = {
  recode: { codecs: "gzip:1", chunks: [70], shards: [420] },
  memory: 10_000,
};

/** Creates a group with an array of small chunks, one of long chunks, and a text. */
async function createSource(
  folder: string,
  { recode }: ConvertOptions,
): Promise<FileSystemStore> {
  const store = new FileSystemStore(folder);
  await store.set("/zarr.json", encodeJson(groupMetadata()));
  await store.set("/readme.txt", utf8("Text"));
  // Only chunks that are decoded need the length of their elements.
  const isDecoded = recode !== undefined;
  const arrays = isDecoded
    ? [["a", 150, 9], ["b", 4, 30_001]] as const
    : [["a", 150, 9], ["b", 4, 3e6]] as const;
  for (const [path, count, length] of arrays) {
    const step = isDecoded ? length : 1;
    const metadata = arrayMetadata({
      shape: [count * step],
      dataType: "uint8",
      chunkShape: [step],
    });
    const chunks = await createArrayChunks(store, path, metadata);
    for (let i = 0; i < count; i++) {
      await chunks.set([i], countingBytes(isDecoded ? step : length + i, i));
    }
  }
  return store;
}

const PROGRAM = import.meta.resolve("./convert_program.ts");

for (
  const [layout, replaces, name] of [
    [SHIFTED, false, ""],
    [SHIFTED, true, ", in place of an earlier target"],
    [CUT, false, ", by copies of files"],
    [RECODED, false, ", with chunks that are encoded anew"],
  ] as const
) {
  Deno.test(
    `a conversion that was killed and is run again equals an uninterrupted one${name}`,
    async () => {
      const roots = await disks();
      const folder = roots.at(-1)!;
      try {
        const [source, target, other, old] = [
          "source",
          "target",
          "other",
          "old",
        ]
          .map((name) => `${folder}/${name}`) as [
            string,
            string,
            string,
            string,
          ];
        const store = await createSource(source, layout);
        const before = await digestsOf(store);
        const start = performance.now();
        await convert(store, new FileSystemStore(other), layout);
        const longest = 1.2 * (performance.now() - start);
        await convert(store, new FileSystemStore(old), { keyEncoding: "v2" });
        const expected = await digestsOf(new FileSystemStore(other));
        const kills = new Kills(KILLS);
        while (kills.areTooFew) {
          await Deno.remove(target, { recursive: true }).catch(() => {});
          if (replaces) {
            await convert(
              new FileSystemStore(old),
              new FileSystemStore(target),
            );
          }
          let isFirst = true;
          while (true) {
            const marker = `${target}/.zarr-parts-unfinished.json`;
            // A run that was killed before its marker changed nothing.
            const isBegun = !isFirst && await present(marker);
            const isDone = !isFirst && !isBegun &&
              (!replaces || !await present(`${target}/a/0`));
            const options: ConvertOptions = {
              ...layout,
              ...isBegun || isDone
                ? { resume: true }
                : replaces
                ? { overwrite: true }
                : {},
            };
            const time = Math.random() * longest;
            const work = { source, target, options };
            isFirst = false;
            const limit = kills.areTooFew ? time : undefined;
            if (!await runAndKill(PROGRAM, work, limit)) break;
            const isComplete = await present(`${target}/zarr.json`);
            kills.add(!isComplete);
            if (isComplete) continue;
            await assertRejects(
              () => openArrayChunks(new FileSystemStore(target)),
              MetadataError,
            );
          }
          assertEquals(await digestsOf(new FileSystemStore(target)), expected);
          assertEquals(await temporaryFiles(target), []);
        }
        kills.assertUnfinished();
        assertEquals(await digestsOf(store), before);
      } finally {
        for (const root of roots) await Deno.remove(root, { recursive: true });
      }
    },
  );
}
