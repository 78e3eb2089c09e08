import { assert, assertEquals } from "@std/assert";
import { FileSystemStore, MemoryStore } from "../../mod.ts";
import { createHandler } from "../../serve.ts";
import { ZipStore } from "../../zip.ts";
import { archiveOf, makeArchive } from "../zip/archives.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { countingBytes } from "../support/bytes.ts";
import { utf8 } from "../support/documents.ts";

const METADATA = {
  zarr_format: 3,
  node_type: "array",
  shape: [2, 300],
  data_type: "uint8",
  chunk_grid: { name: "regular", configuration: { chunk_shape: [1, 300] } },
  chunk_key_encoding: { name: "v2" },
  fill_value: 0,
  codecs: [{ name: "bytes" }],
};

function archive(first: number): Uint8Array {
  return makeArchive([
    { name: "zarr.json", content: utf8(JSON.stringify(METADATA)) },
    { name: "0.0", content: countingBytes(300, first), localExtra: 8 },
    { name: "1.0", content: countingBytes(300, first), isDeflated: true },
  ]);
}

Deno.test("a handler of an archive answers ranges and conditions, and follows an archive that is replaced", async () => {
  await inTempDir(async (folder) => {
    const path = `${folder}/x.zip`;
    const past = new Date(Date.now() - 60_000);
    await Deno.writeFile(path, archive(0));
    await Deno.utime(path, past, past);
    const store = new ZipStore(new FileSystemStore(folder), "/x.zip", {
      follow: true,
    });
    const handler = createHandler(store, { keep: { seconds: 0 } });
    const get = (key: string, headers: HeadersInit = {}) =>
      handler(new Request(`http://localhost/${key}`, { headers }));
    const tags: (string | null)[] = [];
    for (const first of [0, 100]) {
      if (first > 0) {
        await Deno.writeFile(`${path}.new`, archive(first));
        await Deno.utime(`${path}.new`, past, new Date(+past + 5000));
        await Deno.rename(`${path}.new`, path);
      }
      for (const key of ["c/0/0", "c/1/0"]) {
        const whole = await get(key);
        assertEquals(await whole.bytes(), countingBytes(300, first));
        const tag = whole.headers.get("etag");
        assert(tag !== null);
        tags.push(tag);
        const part = await get(key, { range: "bytes=10-19" });
        assertEquals(part.status, 206);
        assertEquals(await part.bytes(), countingBytes(10, first + 10));
        const same = await get(key, { "if-none-match": tag });
        assertEquals(same.status, 304);
      }
    }
    assertEquals(new Set(tags).size, 4);
    assertEquals((await get("c/0/1")).status, 404);
  });
});

Deno.test("a handler serves an archive in an archive", async () => {
  const inner = archiveOf([["/notes.txt", utf8("text")], ["/a/b", utf8("b")]]);
  const outer = archiveOf([["/c/x.zip", inner], ["/d/y.zip", inner]]);
  const files = new MemoryStore([["/outer.zip", outer]]);
  for (const key of ["/c/x.zip", "/d/y.zip"] as const) {
    const store = new ZipStore(new ZipStore(files, "/outer.zip"), key);
    const handler = createHandler(store, { form: "stored" });
    const answer = await handler(new Request("http://localhost/a/b"));
    assertEquals(await answer.text(), "b");
  }
});
