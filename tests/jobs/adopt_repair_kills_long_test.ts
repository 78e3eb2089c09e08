/**
 * Programs that are killed while they adopt files or repair an array, and run again.
 */
import { assertEquals, assertRejects } from "@std/assert";
import { copy } from "@std/fs/copy";
import { repair, verify } from "../../jobs.ts";
import {
  arrayMetadata,
  createArrayChunks,
  FileSystemStore,
  MetadataError,
  openArrayChunks,
  recover,
  type StoreKey,
} from "../../mod.ts";
import { encodeRecord } from "../../src/stores/file_system/journal.ts";
import { journalName } from "../../src/stores/store_key.ts";
import type { AdoptTiffsOptions } from "../../tiff.ts";
import { tiffOf } from "../adopt/tiled_files.ts";
import { disks, temporaryFiles } from "../stores/file_system/processes.ts";
import { present } from "../stores/temp_dir.ts";
import { countingBytes } from "../support/bytes.ts";
import { encodeJson, groupMetadata } from "../support/documents.ts";
import { adopt } from "./adopt_program.ts";
import { digestsOf } from "./digests.ts";
import { Kills, runAndKill } from "./killed_program.ts";

const KILLS = 30;

const [HEIGHT, WIDTH] = [8, 15];

/** Writes a mosaic of TIFFs whose tile starts at a place. */
async function writeTiffs(folder: string, start: number): Promise<void> {
  await Deno.mkdir(folder, { recursive: true });
  for (let y = 0; y < HEIGHT; y++) {
    for (let x = 0; x < WIDTH; x++) {
      const file = tiffOf(y * WIDTH + x, start);
      await Deno.writeFile(`${folder}/y${y}_x${x}.tif`, file);
    }
  }
}

/** The digests of the files of a folder that an array is made of. */
async function tiffsOf(folder: string): Promise<Record<string, string>> {
  const all = await digestsOf(new FileSystemStore(folder));
  const files = Object.entries(all).filter(([key]) =>
    /\/y\d.*\.tif$/.test(key)
  );
  return Object.fromEntries(files);
}

/** The files of a mosaic by their names, which are not those of chunks. */
const FILES = Array.from({ length: HEIGHT * WIDTH }, (_, i) => {
  const coordinates = [Math.floor(i / WIDTH), i % WIDTH];
  const key: StoreKey = `/y${coordinates[0]}_x${coordinates[1]}.tif`;
  return { coordinates, key };
});

/** Each kind of adoption: its path and options, and whether files that were adopted before are replaced. */
const ADOPTIONS: Record<
  string,
  { path: string; options: AdoptTiffsOptions; isAgain?: boolean }
> = {
  "an adoption": { path: "", options: {} },
  "an adoption by links": {
    path: "linked",
    options: { files: FILES, link: true },
  },
  "a second adoption of files that were replaced": {
    path: "",
    options: { overwrite: true },
    isAgain: true,
  },
};

for (const [what, { path, options, isAgain }] of Object.entries(ADOPTIONS)) {
  Deno.test(`${what} that was killed and is run again equals an uninterrupted one`, async () => {
    const roots = await disks();
    const root = roots.at(-1)!;
    const url = import.meta.resolve("./adopt_program.ts");
    const create = async (folder: string) => {
      await writeTiffs(folder, 512);
      if (!isAgain) return;
      await adopt({ folder, path, options });
      await writeTiffs(folder, 544);
    };
    try {
      const [folder, other] = [`${root}/folder`, `${root}/other`];
      await create(other);
      const before = await tiffsOf(other);
      const start = performance.now();
      await adopt({ folder: other, path, options });
      const longest = 1.2 * (performance.now() - start);
      const expected = await digestsOf(new FileSystemStore(other));
      const kills = new Kills(KILLS);
      while (kills.areTooFew) {
        await Deno.remove(folder, { recursive: true }).catch(() => {});
        await create(folder);
        const work = { folder, path, options };
        while (true) {
          const time = kills.areTooFew ? Math.random() * longest : undefined;
          if (!await runAndKill(url, work, time)) break;
          assertEquals(await tiffsOf(folder), before);
          const store = new FileSystemStore(folder);
          if (isAgain) {
            // Each chunk has its new index, or is an error.
            kills.add(true);
            const { counts } = await verify(store, path);
            const { "adopted-file-changed": _, ...others } = counts;
            assertEquals(others, {});
            continue;
          }
          const isComplete = await present(`${folder}/${path}/zarr.json`);
          kills.add(!isComplete);
          if (isComplete) {
            assertEquals((await verify(store, path)).isSound, true);
            // It may have been killed before it removed the lock of the document.
            await recover(store);
            break;
          }
          await assertRejects(
            () => openArrayChunks(store, path),
            MetadataError,
          );
        }
        assertEquals(await digestsOf(new FileSystemStore(folder)), expected);
        assertEquals(await temporaryFiles(folder), []);
      }
      kills.assertUnfinished();
    } finally {
      for (const root of roots) await Deno.remove(root, { recursive: true });
    }
  });
}

const CHUNKS = 80;

/** Creates a group with consolidated metadata that is out of date, and an array whose writers were all killed. */
async function createInterrupted(folder: string): Promise<void> {
  const store = new FileSystemStore(folder);
  const metadata = arrayMetadata({
    shape: [CHUNKS],
    dataType: "uint8",
    chunkShape: [1],
    codecs: [{ name: "bytes" }, { name: "of another program" }],
    parts: ["", ".tail:2"],
  });
  const chunks = await createArrayChunks(store, "a", metadata);
  const stale = { ...chunks.metadata, attributes: { age: "old" } };
  await store.set("/zarr.json", encodeJson(groupMetadata({ a: stale })));
  const place = `${folder}/a/c`;
  for (let i = 0; i < CHUNKS; i++) {
    await chunks.set([i], countingBytes(20 + i, i));
    const [one, other, unused] = [1, 2, 3].map((n) =>
      `.zarr-parts-tmp-${i}-${n}`
    ) as [string, string, string];
    await Deno.writeFile(`${place}/${unused}`, countingBytes(i));
    const isDeleted = i % 4 === 0;
    const record = encodeRecord(
      {
        chunk: `${i}`,
        removed: isDeleted ? [`${i}.tail`, `${i}`] : [`${i}`],
        renamed: [],
        written: isDeleted ? [] : [[one, `${i}.tail`], [other, `${i}`]],
      },
    );
    await Deno.writeFile(`${place}/${await journalName(`${i}`)}`, record);
    await Deno.remove(`${place}/${i}`);
    if (isDeleted) continue;
    await Deno.writeFile(`${place}/${one}`, countingBytes(2, 100 + i));
    await Deno.writeFile(`${place}/${other}`, countingBytes(30 + i, 7 + i));
  }
}

async function copyFolder(from: string, to: string): Promise<void> {
  await Deno.remove(to, { recursive: true }).catch(() => {});
  await copy(from, to);
}

Deno.test("a repair that was killed and is run again equals an uninterrupted one", async () => {
  const roots = await disks();
  const root = roots.at(-1)!;
  const url = import.meta.resolve("./repair_program.ts");
  try {
    const [folder, model, other] = ["folder", "model", "other"].map((name) =>
      `${root}/${name}`
    ) as [string, string, string];
    await createInterrupted(model);
    await copyFolder(model, other);
    const start = performance.now();
    const result = await repair(new FileSystemStore(other));
    const longest = 1.2 * (performance.now() - start);
    assertEquals(result.recovery.written.length, CHUNKS * 3 / 4);
    assertEquals(result.recovery.deleted.length, CHUNKS / 4);
    assertEquals(result.unrepaired, []);
    const expected = await digestsOf(new FileSystemStore(other));
    const kills = new Kills(KILLS);
    while (kills.areTooFew) {
      await copyFolder(model, folder);
      while (true) {
        const time = kills.areTooFew ? Math.random() * longest : undefined;
        if (!await runAndKill(url, folder, time)) break;
        kills.add((await temporaryFiles(folder)).length > 0);
      }
      assertEquals(await digestsOf(new FileSystemStore(folder)), expected);
      assertEquals(await temporaryFiles(folder), []);
    }
    kills.assertUnfinished();
  } finally {
    for (const root of roots) await Deno.remove(root, { recursive: true });
  }
});
