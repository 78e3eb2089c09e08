import { assertEquals, assertStringIncludes } from "@std/assert";
import { repair, type Rule, verify } from "../../jobs.ts";
import {
  FileSystemStore,
  MemoryStore,
  type StoreKey,
  TemplateChunkKeyEncoding,
} from "../../mod.ts";
import { adoptTiffs } from "../../tiff.ts";
import { MOSAICS, stripsOf, tiffOf } from "../adopt/tiled_files.ts";
import { storeTiffs } from "../tiff/store_tiffs.ts";
import { caseOf } from "../tiff/tiff_cases.ts";
import { type Method, observed } from "../support/observed_store.ts";

/** Stores that cannot list. */
const BLIND: Method[] = ["get", "getRange", "stream", "size", "group"];

const OTHER_FORMAT = { tif: "zip", zip: "tif" } as const;

for (const format of ["tif", "zip"] as const) {
  const { fileOf, store: create, adopt } = MOSAICS[format];
  const key: StoreKey = `/a/y2_x1.${format}`;

  /** A store with eleven adopted files. */
  const adopted = async (): Promise<MemoryStore> => {
    const store = create();
    await adopt(store);
    return store;
  };

  const put = (bytes: Uint8Array) => (store: MemoryStore) =>
    store.set(key, bytes);
  const edit =
    (at: StoreKey, change: (bytes: Uint8Array) => Uint8Array | void) =>
    async (store: MemoryStore) => {
      const bytes = (await store.get(at))!;
      await store.set(at, change(bytes) ?? bytes);
    };
  const file = fileOf(33);
  const damaged = file.slice();
  // The offset of the directory of a TIFF, and the name of an entry in the directory of a zip.
  if (format === "tif") damaged.fill(255, 4, 8);
  else damaged[damaged.length - 22 - 1]! ^= 1;
  // A byte of the last entry.
  const flipped = file.slice();
  const directory = new DataView(file.buffer).getUint32(file.length - 6, true);
  if (format === "zip") flipped[directory - 1]! ^= 1;

  /** Each change of a file, the finding, and a part of its message. */
  const CHANGES: [
    string,
    (store: MemoryStore) => unknown,
    Rule | `deep ${Rule}` | undefined,
    string,
  ][] = [
    ["the same bytes", put(file), undefined, ""],
    ["other elements", put(fileOf(99)), undefined, ""],
    ...format === "tif" ? [] : [[
      "a bit of an entry",
      put(flipped),
      "deep inner-chunk-checksum",
      'of archive "/a/y2_x1.zip" has the CRC-32 ',
    ]] as typeof CHANGES,
    [
      "a longer file",
      put(new Uint8Array([...file, 0])),
      "adopted-file-changed",
      `is ${file.length + 1} bytes long, where its index was made for`,
    ],
    [
      "a shorter file",
      put(file.slice(0, -1)),
      "adopted-file-changed",
      `is ${file.length - 1} bytes long, where its index was made for`,
    ],
    [
      "half a file",
      put(file.slice(0, file.length / 2)),
      "adopted-file-changed",
      "bytes long, where its index was made for",
    ],
    [
      "a damaged directory",
      put(damaged),
      "adopted-file-changed",
      "is not the one that was adopted: ",
    ],
    [
      "a file of another kind",
      put(new Uint8Array(file.length)),
      "adopted-file-changed",
      "is not the one that was adopted: ",
    ],
    ["no file", (store) => store.delete(key), "part-missing", ""],
    ["no index", (store) => store.delete(`${key}.index`), "part-missing", ""],
    [
      "a damaged index",
      edit(`${key}.index`, (bytes) => {
        bytes[33]! ^= 1;
      }),
      "index-checksum",
      "",
    ],
    [
      "a damaged record",
      edit(`${key}.index`, (bytes) => {
        bytes[9]! ^= 1;
      }),
      "adopted-file-record",
      "has no record of its file",
    ],
    [
      "a short index",
      edit(`${key}.index`, (bytes) => bytes.slice(1)),
      "part-size",
      "",
    ],
  ];

  for (const [what, change, rule, message] of CHANGES) {
    Deno.test(`verify looks at adopted ${format} files, and finds ${rule ?? "nothing"} for ${what}`, async () => {
      const store = await adopted();
      await change(store);
      for (const seen of [store, observed(store, () => {}, BLIND)]) {
        for (const deep of [false, true]) {
          const { findings } = await verify(seen, "a", { deep });
          const needsDeep = rule?.startsWith("deep ");
          const isFound = rule !== undefined && (deep || !needsDeep);
          assertEquals(
            findings.map(({ rule, key }) => [rule, key.replace(".index", "")]),
            isFound ? [[rule.replace("deep ", ""), key]] : [],
          );
          if (isFound) assertStringIncludes(findings[0]!.message, message);
        }
      }
      const { unrepaired } = await repair(store, "a");
      assertEquals(
        unrepaired.map(({ finding }) => finding.rule as string),
        rule === undefined || rule.startsWith("deep ") ? [] : [rule],
      );
    });
  }

  Deno.test(`verify finds a file of another format among adopted ${format} files`, async () => {
    const store = await adopted();
    const other = MOSAICS[OTHER_FORMAT[format]].fileOf(33);
    // The record of the file tells the length of the other file.
    const same = new Uint8Array(file.length);
    same.set(other.subarray(0, same.length));
    await store.set(key, same);
    const { counts } = await verify(store, "a");
    assertEquals(counts, { "adopted-file-changed": 1 });
  });
}

Deno.test("verify finds a TIFF of the same length whose tiles lie elsewhere, or that has other tiles", async () => {
  const head = new Uint8Array(800);
  for (
    const [bytes, reason] of [
      [tiffOf(1, 544), "inner chunk 0 has 256 bytes from 544 on"],
      [stripsOf(12), "the file has the shape [12, 16]"],
    ] as const
  ) {
    const [one, other] = [head.slice(), head.slice()];
    one.set(tiffOf(1));
    other.set(bytes);
    const store = new MemoryStore([["/c/0/0.tif", one]]);
    await adoptTiffs(store, "");
    await store.set("/c/0/0.tif", other);
    const { findings } = await verify(store);
    assertEquals(findings.map(({ rule }) => rule), ["adopted-file-changed"]);
    assertStringIncludes(findings[0]!.message, reason);
    assertEquals(findings[0]!.coordinates, [0, 0]);
  }
});

Deno.test("a deep verification decodes the tiles of adopted TIFFs", async () => {
  for (const compression of ["deflate", "lzw", "packbits", "zstd"]) {
    for (const predictor of [undefined, "imagecodecs_delta"] as const) {
      if (predictor && compression === "packbits") continue;
      const store = new MemoryStore();
      const { chunks } = await storeTiffs(
        store,
        "",
        caseOf({ compression, ...predictor && { predictor } }),
      );
      const { innerChunks } = (await adoptTiffs(store, "", {
        overwrite: true,
      })).report;
      assertEquals(innerChunks > 8, true);
      assertEquals((await verify(store, "", { deep: true })).findings, []);
      const key = chunks.key([0, 0]);
      const index = (await store.get(`${key}.index`))!;
      const view = new DataView(index.buffer);
      const [offset, length] = [32, 40].map((at) =>
        Number(view.getBigUint64(at, true))
      );
      const file = (await store.get(key))!;
      // Packbits ends where the tile is full, so that only fewer bytes are noticed.
      const byte = compression === "packbits" ? 128 : 255;
      file.fill(byte, offset! + 2, offset! + length! - 2);
      await store.set(key, file);
      assertEquals((await verify(store)).findings, []);
      const { findings } = await verify(store, "", { deep: true });
      assertEquals(
        findings.map(({ rule, key }) => [rule, key]),
        [["inner-chunk-decoding", key]],
        compression,
      );
    }
  }
});

Deno.test("verify finds nothing in the adopted files of the fixtures", async () => {
  const folder = await Deno.makeTempDir();
  try {
    for (const y of [0, 1]) {
      for (const x of [0, 1]) {
        const name = `row${y}_column${x}.tif`;
        await Deno.copyFile(
          `tests/fixtures/tiffs/${name}`,
          `${folder}/${name}`,
        );
      }
    }
    const store = new FileSystemStore(folder);
    await adoptTiffs(store, "", {
      chunkKeyEncoding: new TemplateChunkKeyEncoding("row{0}_column{1}.tif"),
    });
    const { chunks, findings } = await verify(store, "", { deep: true });
    assertEquals([chunks, findings], [4, []]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
