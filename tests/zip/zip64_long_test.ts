import { assert, assertEquals } from "@std/assert";
import { FileSystemStore } from "../../mod.ts";
import { ZipStore } from "../../zip.ts";
import {
  encodeDirectory,
  encodeLocalHeader,
  type WrittenEntry,
} from "../../src/zip/zip_records.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { countingBytes } from "../support/bytes.ts";
import { utf8 } from "../support/documents.ts";
import { slowCrc32 } from "./make_zip.ts";

const GIB = 2 ** 30;

/** Counts the bytes of ranges that are read of versions of values. */
class CountingStore extends FileSystemStore {
  readBytes = 0;

  override async readOf(
    ...parameters: Parameters<FileSystemStore["readOf"]>
  ): Promise<Uint8Array | undefined> {
    const bytes = await super.readOf(...parameters);
    this.readBytes += bytes?.length ?? 0;
    return bytes;
  }
}

Deno.test("ZipStore reads ranges of an archive of 9 GiB, by few bytes", async () => {
  await inTempDir(async (folder) => {
    const content = countingBytes(1000);
    const crc = slowCrc32(content);
    using file = await Deno.create(`${folder}/x.zip`);
    const write = async (bytes: Uint8Array, offset: number) => {
      await file.seek(offset, Deno.SeekMode.Start);
      assertEquals(await file.write(bytes), bytes.length);
    };
    // Between the bytes that are written, the file has no blocks on the disk.
    const sizes = { "c/0": 5 * GIB, "c/1": 4 * GIB, "c/2": 1000 };
    const entries: WrittenEntry[] = [];
    let offset = 0;
    for (const [name, size] of Object.entries(sizes)) {
      const entry = { name: utf8(name), crc, size, modified: 0 };
      const header = encodeLocalHeader(entry);
      await write(header, offset);
      const start = offset + header.length;
      await write(content, start + size - content.length);
      entries.push({ ...entry, offset });
      offset = start + size;
    }
    await write(encodeDirectory(entries, offset, 0), offset);

    const files = new CountingStore(folder);
    const store = new ZipStore(files, "/x.zip");
    for (const [name, size] of Object.entries(sizes)) {
      const key = `/${name}` as const;
      assertEquals(await store.size(key), size);
      const range = { offset: size - 900, length: 7 };
      assertEquals(await store.getRange(key, range), content.slice(100, 107));
      assertEquals(
        await store.getRange(key, { suffixLength: 9 }),
        content.slice(-9),
      );
      const start = await store.getRange(key, { offset: 0, length: 2 });
      assertEquals(
        start,
        size === 1000 ? content.slice(0, 2) : new Uint8Array(2),
      );
    }
    assertEquals(await store.get("/c/2"), content);
    assert(
      files.readBytes > 1000 && files.readBytes < 10_000,
      `${files.readBytes} bytes`,
    );
  });
});
