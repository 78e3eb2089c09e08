import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  arrayMetadata,
  createArrayChunks,
  MemoryStore,
  openArrayChunks,
  type StoreKey,
} from "../../mod.ts";
import { convert, repair, type Rule, verify } from "../../jobs.ts";
import { ZipStore } from "../../zip.ts";
import { type ArchiveEntry, makeArchive } from "../zip/archives.ts";
import { utf8 } from "../support/documents.ts";

const METADATA = arrayMetadata({
  shape: [6],
  dataType: "uint8",
  chunkShape: [2],
});

/** The entries of a group with an array of three chunks. */
async function entriesOf(): Promise<ArchiveEntry[]> {
  const store = new MemoryStore();
  await store.set("/zarr.json", utf8('{"zarr_format":3,"node_type":"group"}'));
  const chunks = await createArrayChunks(store, "a", METADATA);
  for (const i of [0, 1, 2]) await chunks.set([i], new Uint8Array([i, i]));
  const entries: ArchiveEntry[] = [];
  for await (const key of store.list()) {
    entries.push({ name: key.slice(1), content: (await store.get(key))! });
  }
  return entries;
}

function inMemory(
  key: StoreKey,
  ...args: Parameters<typeof makeArchive>
): ZipStore {
  return new ZipStore(new MemoryStore([[key, makeArchive(...args)]]), key);
}

Deno.test("verify tells what is wrong with an archive", async () => {
  const entries = await entriesOf();
  const with_ = (place: number, changes: Partial<ArchiveEntry>) =>
    entries.map((entry, i) => i === place ? { ...entry, ...changes } : entry);
  const last = entries.length - 1;
  const comment = '{"ome":{"version":"0.5"}}\0';
  const cases: [
    what: string,
    store: ZipStore,
    found: Rule[],
    deep?: Rule[],
    isSound?: boolean,
  ][] = [
    ["nothing", inMemory("/x.zip", entries), []],
    ["nothing in OME-Zarr", inMemory("/x.ozx", entries, { comment }), []],
    [
      "a wrong CRC-32",
      inMemory("/x.zip", with_(last, { listed: { checksum: 1 } })),
      [],
      ["archive-entry"],
      false,
    ],
    [
      "a deflated entry",
      inMemory("/x.zip", with_(last, { isDeflated: true })),
      ["archive-deflated"],
    ],
    [
      "a deflated entry in the recommended variant",
      inMemory("/x.zip", with_(last, { isDeflated: true }), { comment }),
      ["archive-layout", "archive-deflated"],
    ],
    [
      "documents behind chunks in the recommended variant",
      inMemory("/x.zip", entries.toReversed(), { comment }),
      ["archive-layout"],
    ],
    ["documents behind chunks", inMemory("/x.ozx", entries.toReversed()), []],
    [
      "a node in a folder of OME-Zarr",
      inMemory(
        "/x.ozx",
        entries.map((entry) => ({ ...entry, name: `x/${entry.name}` })),
      ),
      ["archive-layout"],
    ],
    [
      "replaced entries",
      inMemory("/x.zip", [{ ...entries[last]! }, ...entries]),
      ["archive-leftovers"],
    ],
    [
      "names that are no keys",
      inMemory("/x.zip", [...entries, { ...entries[0]!, name: "../a" }]),
      ["archive-leftovers"],
    ],
    [
      "an encrypted entry that belongs to no chunk",
      inMemory("/x.zip", [...entries, {
        ...entries[0]!,
        name: "notes.txt",
        flags: 1,
      }]),
      ["archive-entry"],
      ["archive-entry", "unreadable"],
      false,
    ],
  ];
  for (const [what, store, found, deep = found, isSound = true] of cases) {
    const plain = await verify(store);
    assertEquals(plain.findings.map(({ rule }) => rule), found, what);
    assertEquals(plain.chunks, 3);
    const result = await verify(store, "", { deep: true, keepGoing: true });
    assertEquals(result.findings.map(({ rule }) => rule), deep, what);
    assertEquals(result.isSound, isSound, what);
  }
});

Deno.test("shares of verify compare each entry of an archive once", async () => {
  const entries = await entriesOf();
  const store = inMemory(
    "/x.zip",
    entries.map((entry) => ({ ...entry, listed: { checksum: 1 } })),
  );
  // The documents have to be read.
  await assertRejects(() => verify(store), Error, "has the CRC-32");
  const damaged = inMemory(
    "/x.zip",
    entries.map((entry) =>
      entry.name.includes("/c/") ? { ...entry, listed: { checksum: 1 } } : entry
    ),
  );
  const keys: string[] = [];
  for (const index of [0, 1, 2]) {
    const share = { index, count: 3 };
    const { findings } = await verify(damaged, "", { deep: true, share });
    keys.push(...findings.map(({ key }) => key));
  }
  assertEquals(keys.sort(), ["/a/c/0", "/a/c/1", "/a/c/2"]);
});

Deno.test("convert copies from an archive, and refuses one as target", async () => {
  const store = inMemory("/x.zip", await entriesOf());
  const target = new MemoryStore();
  await convert(store, target, { suffix: ".bin" });
  const chunks = await openArrayChunks(target, "a");
  assertEquals(await chunks.get([2]), new Uint8Array([2, 2]));
  await assertRejects(() => convert(target, store), TypeError, "read-only");
  await assertRejects(() => repair(store), TypeError, "read-only");
});

Deno.test("convert of an archive that is replaced is an error, and not a mixture", async () => {
  const entries = await entriesOf();
  const files = new MemoryStore([["/x.zip", makeArchive(entries)]]);
  const store = new ZipStore(files, "/x.zip");
  const target = new MemoryStore();
  await assertRejects(
    () =>
      convert(store, target, {
        concurrency: 1,
        onProgress({ done }) {
          if (done !== 1) return;
          const changed = entries.map((entry) => ({ ...entry, localExtra: 8 }));
          files.set("/x.zip", makeArchive(changed));
        },
      }),
    Error,
    'Archive "/x.zip" of MemoryStore(1) was changed after it was opened',
  );
  assertEquals(await target.get("/zarr.json"), undefined);
  // The new archive is another source, although its documents are the same.
  const changed = new ZipStore(files, "/x.zip");
  await assertRejects(
    () => convert(changed, target, { resume: true }),
    Error,
    "it was begun from another source",
  );
  await files.set("/x.zip", makeArchive(entries));
  await convert(new ZipStore(files, "/x.zip"), target, { resume: true });
  assert(await target.get("/zarr.json") !== undefined);
});
