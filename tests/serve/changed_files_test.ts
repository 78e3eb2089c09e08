/** Chunks in files whose versions are kept, and which change. */
import { assert, assertEquals } from "@std/assert";
import { FileSystemStore, type StoreKey } from "../../mod.ts";
import { createInParts, makeOld, served } from "./serving.ts";
import { countingBytes } from "../support/bytes.ts";
import { inTempDir, replaced } from "../stores/temp_dir.ts";

const RANGE = { headers: { range: "bytes=60-160" } };
const PATH = "/dem/c/2/1";

Deno.test("createHandler gives each of many requests its own bytes", async () => {
  await inTempDir(async (folder) => {
    const chunks = await createInParts(new FileSystemStore(folder));
    const values = Array.from(
      { length: 6 },
      (_, i) => countingBytes(1000, 31 * i),
    );
    for (const [i, bytes] of values.entries()) {
      await chunks.set([i >> 1, i & 1], bytes);
    }
    await makeOld(folder);
    const get = served(new FileSystemStore(folder));
    const ask = async (n: number) => {
      const [start, end] = [n * 37 % 500, 500 + n * 91 % 500];
      const response = await get(`/dem/c/${n % 6 >> 1}/${n & 1}`, {
        headers: { range: `bytes=${start}-${end - 1}` },
      });
      assertEquals(response.status, 206);
      const bytes = await response.bytes();
      assertEquals(bytes, values[n % 6]!.slice(start, end), `request ${n}`);
    };
    for (let n = 0; n < 6; n++) await ask(n);
    await Promise.all(Array.from({ length: 300 }, (_, n) => ask(n)));
  });
});

/** Changes of the file `file` of a chunk, and of its folder, and the status that they lead to. */
const CHANGES: Record<
  string,
  {
    change: (paths: { folder: string; file: string }) => Promise<unknown>;
    status: number;
  }
> = {
  "other bytes of the same length": {
    change: ({ file }) => Deno.writeFile(file, new Uint8Array(900).fill(9)),
    status: 206,
  },
  "a shorter file": {
    change: ({ file }) => Deno.truncate(file, 10),
    status: 206,
  },
  "no file": { change: ({ file }) => Deno.remove(file), status: 502 },
  "a link to the file itself, which has moved outside": {
    change: async ({ folder, file }) => {
      await Deno.rename(file, `${folder}/outside`);
      await Deno.symlink(`${folder}/outside`, file);
    },
    status: 502,
  },
  "a link to a folder outside that holds a copy": {
    change: async ({ folder, file }) => {
      const chunks = file.slice(0, file.lastIndexOf("/"));
      await Deno.mkdir(`${folder}/outside`);
      for await (const { name } of Deno.readDir(chunks)) {
        await Deno.copyFile(`${chunks}/${name}`, `${folder}/outside/${name}`);
        await Deno.utime(`${folder}/outside/${name}`, 1000, 1000);
      }
      await Deno.remove(chunks, { recursive: true });
      await Deno.symlink(`${folder}/outside`, chunks);
    },
    status: 502,
  },
};

for (const [name, { change, status }] of Object.entries(CHANGES)) {
  Deno.test({
    name: `createHandler finds ${name} in the place of a file that it knows`,
    ignore: Deno.build.os === "windows",
    async fn() {
      await inTempDir(async (folder) => {
        const root = `${folder}/root`;
        await createInParts(new FileSystemStore(root));
        await makeOld(root);
        const get = served(new FileSystemStore(root));
        const before = await get(PATH, RANGE);
        const etag = before.headers.get("etag");
        assertEquals(before.status, 206);
        await before.body?.cancel();
        await change({ folder, file: `${root}/dem/c/2/1.shard` });
        const response = await get(PATH, RANGE);
        assertEquals(response.status, status);
        if (status === 206) assert(response.headers.get("etag") !== etag);
        await response.body?.cancel();
      });
    },
  });
}

Deno.test("createHandler sends the entity tag of the bytes, also if a file is replaced while it is opened", async () => {
  await inTempDir(async (folder) => {
    const store = new FileSystemStore(folder);
    await createInParts(store);
    await makeOld(folder);
    const get = served(store);
    const before = await get(PATH, RANGE);
    await before.body?.cancel();
    const later = countingBytes(1000, 77);
    const { openSync } = Deno;
    let isReplaced = false;
    const file = "/dem/c/2/1.shard" satisfies StoreKey;
    await replaced("openSync", (path, options) => {
      if (!isReplaced && String(path).endsWith(file)) {
        isReplaced = true;
        Deno.renameSync(`${folder}/new`, `${folder}${file}`);
      }
      return openSync(path, options);
    }, async () => {
      await Deno.writeFile(`${folder}/new`, later.slice(64, 964));
      await Deno.utime(`${folder}/new`, 1000, 1000);
      const response = await get(PATH, RANGE);
      assert(isReplaced);
      assertEquals(response.status, 206);
      const bytes = await response.bytes();
      // The first four bytes are those of the header, which is another file.
      assertEquals(bytes.slice(4), later.slice(64, 161));
      const { headers } = before;
      assert(response.headers.get("etag") !== headers.get("etag"));
    });
  });
});

Deno.test("createHandler answers HEAD and conditions by the chunk that is stored now", async () => {
  await inTempDir(async (folder) => {
    const chunks = await createInParts(new FileSystemStore(folder));
    await makeOld(folder);
    const get = served(new FileSystemStore(folder));
    const before = await get(PATH, RANGE);
    await before.body?.cancel();
    const etag = before.headers.get("etag")!;
    const revalidate = { headers: { "if-none-match": etag } };
    assertEquals((await get(PATH, revalidate)).status, 304);
    await chunks.set([2, 1], countingBytes(1100));
    await makeOld(folder);
    const head = await get(PATH, { method: "HEAD" });
    assertEquals(head.headers.get("content-length"), "1100");
    const again = await get(PATH, revalidate);
    assertEquals(again.status, 200);
    assertEquals(await again.bytes(), countingBytes(1100));
  });
});
