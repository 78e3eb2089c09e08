import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { convert, repair, verify } from "../../jobs.ts";
import {
  FileSystemStore,
  MemoryStore,
  MetadataError,
  openArrayChunks,
} from "../../mod.ts";
import { journalName } from "../../src/stores/store_key.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { encodeJson, groupMetadata, readJson } from "../support/documents.ts";
import { treeOf } from "../support/tree.ts";
import { checksummed, CODECS } from "./checksummed.ts";
import { DAMAGES, example, SIZE } from "./damages.ts";
import { digestsOf } from "./digests.ts";

const NOTHING = { written: [], deleted: [], temporary: { files: 0, bytes: 0 } };

for (const [name, { damage, found, listed = [] }] of Object.entries(DAMAGES)) {
  Deno.test(`repair leaves ${name} as it is, and says why`, async () => {
    const store = await example();
    await damage(store);
    const before = await digestsOf(store);
    for (const dryRun of [true, false]) {
      const repaired: unknown[] = [];
      const unrepaired: unknown[] = [];
      const result = await repair(store, "", {
        dryRun,
        deep: true,
        codecs: CODECS,
        onRepaired: (finding) => repaired.push(finding),
        onUnrepaired: (each) => unrepaired.push(each),
      });
      // Consolidated metadata has the right document of a damaged node.
      const left = result.unrepaired
        .filter(({ finding: { rule } }) =>
          rule !== "consolidated-metadata-differs"
        );
      assertEquals(
        left.map(({ finding: { rule, key } }) => [rule, `${key}`]).sort(),
        [...found, ...listed],
      );
      assertEquals(left.every(({ reason }) => /; \w/.test(reason)), true);
      assertEquals([repaired, unrepaired], [
        result.repaired,
        result.unrepaired,
      ]);
      const { isSound } = await verify(store, "", {
        deep: true,
        codecs: CODECS,
      });
      assertEquals(result.isSound, isSound);
      assertEquals(result.recovery, NOTHING);
      assertEquals(await digestsOf(store), before);
    }
  });
}

Deno.test("repair changes nothing in whole arrays", async () => {
  const store = await example();
  const before = await digestsOf(store);
  assertEquals(await repair(store), {
    recovery: NOTHING,
    repaired: [],
    unrepaired: [],
    isSound: true,
  });
  assertEquals(await digestsOf(store), before);
});

Deno.test("repair brings the consolidated metadata of nested groups up to date", async () => {
  const store = await example();
  // The inner group consolidates one array, and the outer one all nodes, one of them inside of the group.
  const right = await readJson(store, "/raw/zarr.json");
  const stale = { ...right, attributes: { age: "old" } };
  const gone = { ...right, attributes: { age: "gone" } };
  const inner = groupMetadata({ raw: stale });
  await store.set("/g/zarr.json", encodeJson(inner));
  await store.set("/g/raw/zarr.json", encodeJson(right));
  const outer = await readJson(store, "/zarr.json");
  const { metadata } = outer.consolidated_metadata;
  metadata.g = groupMetadata({ raw: stale });
  metadata["g/raw"] = stale;
  metadata.gone = gone;
  await store.set("/zarr.json", encodeJson({ ...outer, attributes: { a: 1 } }));
  const before = await digestsOf(store);

  const dry = await repair(store, "", { dryRun: true });
  assertEquals(await digestsOf(store), before);
  const result = await repair(store);
  assertEquals(result, dry);
  assertEquals(result.repaired.map(({ key }) => key), [
    "/zarr.json",
    "/zarr.json",
    "/g/zarr.json",
  ]);
  const [{ finding, reason }] = result.unrepaired as [
    typeof result.unrepaired[0],
  ];
  assertEquals([finding.key, result.unrepaired.length], ["/zarr.json", 1]);
  assertEquals(finding.message.includes('"/gone"'), true);
  assertEquals(reason.includes("no valid document of its own"), true);
  assertEquals(result.isSound, true);

  assertEquals(
    (await readJson(store, "/g/zarr.json")).consolidated_metadata.metadata,
    { raw: right },
  );
  const repaired = await readJson(store, "/zarr.json");
  assertEquals(repaired.attributes, { a: 1 });
  assertEquals(repaired.consolidated_metadata.metadata, {
    ...metadata,
    g: groupMetadata({ raw: right }),
    "g/raw": right,
    gone,
  });
  const again = await repair(store);
  assertEquals([again.repaired, again.unrepaired], [[], result.unrepaired]);
});

Deno.test("repair keeps the digits of all numbers in documents", async () => {
  const store = await example();
  const right = await readJson(store, "/raw/zarr.json");
  const numbers = '{"id":9007199254740993,"scale":1.0}';
  const withNumbers = (document: unknown) =>
    new TextEncoder().encode(
      JSON.stringify(document).replaceAll('"NUMBERS"', numbers),
    );
  await store.set(
    "/raw/zarr.json",
    withNumbers({ ...right, attributes: "NUMBERS" }),
  );
  const group = await readJson(store, "/zarr.json");
  await store.set(
    "/zarr.json",
    withNumbers({ ...group, attributes: "NUMBERS" }),
  );
  const { repaired } = await repair(store);
  assertEquals(repaired.map(({ key }) => key), ["/zarr.json"]);
  const text = new TextDecoder().decode(await store.get("/zarr.json"));
  assertEquals(text.match(/: (9007199254740993|1\.0),?\n/g)?.length, 4);
});

/** The journal of an earlier version, whose records are still understood: a line of JSON, twice. */
function encodeRecord(record: unknown): Uint8Array<ArrayBuffer> {
  const line = `${JSON.stringify(record)}\n`;
  return new TextEncoder().encode(line + line);
}

/** Creates an array with chunks in two parts, one of them half written, one half deleted, and a temporary file. */
async function interrupted(folder: string): Promise<FileSystemStore> {
  const plain = new MemoryStore();
  await checksummed(plain, SIZE);
  const store = new FileSystemStore(folder);
  await convert(plain, { store, path: "a" }, { parts: ["", ".tail:40"] });
  const chunks = `${folder}/a/c`;
  // A writer of 1/2 was killed between two renames.
  const [one, other] = [1, 2].map((i) => `.zarr-parts-tmp-${i}`);
  const written = encodeRecord({
    chunk: "2",
    action: "replace",
    files: [[one!, "2.tail"], [other!, "2"]],
  });
  await Deno.rename(`${chunks}/1/2`, `${chunks}/1/${other}`);
  await Deno.writeFile(`${chunks}/1/${await journalName("2")}`, written);
  // A writer that deletes 1/0 was killed between two files.
  const deleted = encodeRecord({
    chunk: "0",
    action: "delete",
    files: ["0.tail", "0"],
  });
  await Deno.remove(`${chunks}/1/0`);
  await Deno.writeFile(`${chunks}/1/${await journalName("0")}`, deleted);
  await Deno.writeFile(`${folder}/a/.zarr-parts-tmp-3`, new Uint8Array(7));
  return store;
}

Deno.test("repair finishes interrupted writes, and removes temporary files", async () => {
  await inTempDir(async (folder) => {
    const store = await interrupted(folder);
    const before = await treeOf(folder);
    using living = await Deno.open(`${folder}/a/.zarr-parts-tmp-4`, {
      create: true,
      write: true,
    });
    await living.lock(true);
    const dry = await repair(store, "a", { dryRun: true });
    await Deno.remove(`${folder}/a/.zarr-parts-tmp-4`);
    assertEquals(await treeOf(folder), before);
    assertEquals(dry, {
      recovery: {
        written: ["/a/c/1/2"],
        deleted: ["/a/c/1/0"],
        temporary: { files: 1, bytes: 7 },
      },
      repaired: [],
      unrepaired: [],
      isSound: true,
    });
    assertEquals(await repair(store, "a"), dry);
    const chunks = await openArrayChunks(store, "a");
    assertEquals(await Array.fromAsync(chunks.list()), [[0, 0], [1, 2]]);
    assertEquals((await verify(store, "a")).findings, []);
    const names = Object.keys(await treeOf(folder));
    assertEquals(names.filter((name) => name.includes("tmp")), []);
  });
});

Deno.test("repair does not take the steps of a conversion in place twice", async () => {
  await inTempDir(async (folder) => {
    const store = new FileSystemStore(folder);
    const plain = new MemoryStore();
    await checksummed(plain, SIZE);
    await convert(plain, store, { parts: ["", ".tail:40"] });
    const before = await treeOf(folder);
    // All steps are done: the file 0 became 0.tail, and a new file took its name.
    const record = encodeRecord({
      chunk: "0",
      action: "reshape",
      removed: [],
      renamed: [["0", "0.tail"]],
      files: [[".zarr-parts-tmp-1", "0"]],
    });
    const journal = `${folder}/c/0/${await journalName("0")}`;
    await Deno.writeFile(journal, record);
    await repair(store);
    assertEquals(await treeOf(folder), before);
  });
});

Deno.test("repair refuses stores that it cannot write, and places without a node", async () => {
  await assertRejects(
    () => repair({ get: () => Promise.resolve(undefined) }),
    TypeError,
    "read-only",
  );
  await inTempDir(async (folder) => {
    const file = `${folder}/.zarr-parts-tmp-1`;
    await Deno.writeFile(file, new Uint8Array(7));
    const store = new FileSystemStore(folder);
    await assertRejects(() => repair(store), MetadataError, "No Zarr node");
    assertEquals((await Deno.stat(file)).size, 7);
  });
  const wrong = { overwrite: true } as Record<string, unknown>;
  await assertRejects(
    () => repair(new MemoryStore(), "", wrong),
    TypeError,
    'Unknown option "overwrite" of repair; known are "dryRun", "deep"',
  );
});

Deno.test("verify finds a journal that cannot be read, and repair says what to do and finishes the others", async () => {
  await inTempDir(async (folder) => {
    const store = new FileSystemStore(folder);
    await checksummed(store, SIZE);
    const journal = `${folder}/c/0/${await journalName("0")}`;
    // A record of another chunk, as it may come with the files of somebody else.
    const record = encodeRecord({ action: "delete", chunk: "9", files: ["9"] });
    await Deno.writeFile(journal, record);
    await Deno.writeFile(`${folder}/.zarr-parts-tmp-1`, new Uint8Array(9));
    const { findings, isSound } = await verify(store);
    assertEquals(isSound, false);
    assertEquals(findings.map(({ rule }) => rule), ["journal-unreadable"]);
    assertStringIncludes(findings[0]!.message, journal);
    const { unrepaired } = await repair(store);
    assertEquals(unrepaired.map(({ finding }) => finding), findings);
    assertStringIncludes(unrepaired[0]!.reason, "remove it");
    assertEquals(await Deno.readFile(journal), record);
  });
});

for (const files of [["0", "00"], ["0", "0/zarr.json"], ["0.other"]]) {
  Deno.test(`repair does not follow a planted journal of a folder that names ${files}`, async () => {
    await inTempDir(async (folder) => {
      const store = new FileSystemStore(folder);
      await checksummed(store, SIZE);
      const chunks = `${folder}/c/0`;
      for (const name of files.filter((name) => name !== "0")) {
        await Deno.mkdir(`${chunks}/other`, { recursive: true });
        if (!name.includes("/")) {
          await Deno.writeFile(`${chunks}/${name}`, new Uint8Array(1));
        }
      }
      const record = encodeRecord({ action: "delete", chunk: "0", files });
      await Deno.writeFile(`${chunks}/${await journalName("0")}`, record);
      const before = await treeOf(folder);
      const { unrepaired } = await repair(store);
      assertEquals(
        unrepaired.map(({ finding: { rule } }) => rule).includes(
          "journal-unreadable",
        ),
        true,
      );
      assertEquals(await treeOf(folder), before);
    });
  });
}
