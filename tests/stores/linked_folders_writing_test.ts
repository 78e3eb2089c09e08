/** Writing and listing with links into folders that `followLinksInto` names. */
import { assertEquals, assertRejects } from "@std/assert";
import {
  arrayMetadata,
  createArrayChunks,
  FileSystemStore,
  MissingPartError,
  recover,
  type StoreKey,
} from "../../mod.ts";
import { treeOf } from "../support/tree.ts";
import {
  BYTES,
  DATA,
  OTHER,
  type Places,
  SECRET,
  SUM,
  withPlaces,
} from "./linked_places.ts";
import { listed, readAll } from "./store_values.ts";
import { filesIn, replaced } from "./temp_dir.ts";

Deno.test("FileSystemStore replaces and removes links into followLinksInto, and leaves their files alone", async () => {
  await withPlaces(async ({ root, tiffs, store, link }) => {
    const before = await treeOf(tiffs);
    const { ino, mtime } = await Deno.stat(`${tiffs}/a/b.tif`);
    const ways: ((key: StoreKey) => Promise<void>)[] = [
      (key) => store.set(key, OTHER),
      (key) => store.set(key, ReadableStream.from([OTHER])),
      async (key) => {
        const writer = await store.writer(key);
        await writer.write(OTHER);
        await writer.close?.();
      },
      async (key) => {
        const writer = await store.group(key, [key]).write!();
        await writer.set(key, OTHER);
        await writer.close();
      },
      (key) =>
        store.group(key, [key]).lock!(async (locked) => {
          const bytes = await locked.read((values) => values.get(key));
          assertEquals(bytes, BYTES);
          const writer = await locked.write!();
          await writer.set(key, OTHER);
          await writer.close();
        }),
    ];
    for (const [i, write] of ways.entries()) {
      const key: StoreKey = `/c/${i}`;
      await link("../../tiffs/a/b.tif", `root${key}`);
      assertEquals(await store.get(key), BYTES);
      await write(key);
      assertEquals(await store.get(key), OTHER);
      assertEquals((await Deno.lstat(root + key)).isFile, true);
    }
    for (
      const remove of [
        () => store.delete("/k"),
        () => store.group("/k", ["/k"]).delete!(),
      ]
    ) {
      await link(`${tiffs}/a/b.tif`, "root/k");
      await remove();
      assertEquals(await store.get("/k"), undefined);
      assertEquals(await filesIn(root), ["c"]);
    }
    assertEquals(await treeOf(tiffs), before);
    const after = await Deno.stat(`${tiffs}/a/b.tif`);
    assertEquals([after.ino, after.mtime], [ino, mtime]);
  });
});

Deno.test("FileSystemStore changes nothing in linked folders", async () => {
  await withPlaces(async ({ root, tiffs, store, link }) => {
    await link(tiffs, "root/folder");
    const before = await treeOf(`${root}/..`);
    const assertRefused = (use: () => Promise<unknown>) =>
      assertRejects(
        use,
        Error,
        `leads out of the store's root into ${tiffs}, where the store only reads`,
      );
    const keys: StoreKey[] = ["/folder/a/b.tif", "/folder/new", "/folder/x/y"];
    for (const key of keys) {
      const group = store.group(key, [key]);
      await assertRefused(() => store.set(key, OTHER));
      await assertRefused(() => store.set(key, ReadableStream.from([OTHER])));
      await assertRefused(() => store.writer(key));
      await assertRefused(async () => (await group.write!()).set(key, OTHER));
      await assertRefused(() => group.lock!(() => Promise.resolve()));
      if (key === "/folder/x/y") { // There is nothing to delete.
        await store.delete(key);
        await group.delete!();
      } else {
        await assertRefused(() => store.delete(key));
        await assertRefused(() => group.delete!());
      }
    }
    await assertRefused(() => recover(store, { path: "folder" }));
    assertEquals(await treeOf(`${root}/..`), before);
  });
});

Deno.test("FileSystemStore.list walks linked folders of followLinksInto, and walks no circles", async () => {
  await withPlaces(async ({ root, tiffs, store, link }) => {
    await Deno.writeFile(`${tiffs}/.zarr-parts-tmp-1`, OTHER);
    await store.set("/c/own", OTHER);
    await link("../tiffs", "root/folder");
    await link("../tiffs/a/b.tif", "root/file");
    await link("c", "root/within"); // Links below the root may form circles.
    await link(".", "tiffs/here");
    await link("..", "tiffs/a/up");
    await link("../tiffs", "tiffs/a/around");
    await Deno.mkdir(`${tiffs}/d`);
    await link("../a", "tiffs/d/beside");
    await link("..", "tiffs/above");
    const beside = "/folder/d/beside/b.tif";
    const all = ["/c/own", "/file", "/folder/a/b.tif", beside];
    assertEquals(await listed(store), all);
    assertEquals(await listed(store, "/f"), all.slice(1));
    assertEquals(await listed(store, "/folder/"), ["/folder/a/b.tif", beside]);
    assertEquals(await listed(store, "/folder/a/b"), ["/folder/a/b.tif"]);
    assertEquals(await listed(store, "/folder/d/"), [beside]);
    // A folder around the root.
    const wide = new FileSystemStore(root, { followLinksInto: ["/"] });
    await link("..", "root/c/up");
    assertEquals((await listed(wide, "/c/")).includes("/c/own"), true);
  });
});

const PARTS = arrayMetadata({
  shape: [8],
  dataType: "uint8",
  chunkShape: [8],
  codecs: ["crc32c"],
  suffix: ".tif",
  parts: ["", ".crc:4"],
});

Deno.test("FileSystemStore reads and replaces a chunk with a linked part", async () => {
  await withPlaces(async ({ root, tiffs, store, link }) => {
    const chunks = await createArrayChunks(store, "", PARTS);
    await link(`${tiffs}/a/b.tif`, `root${DATA}`);
    await store.set(SUM, SECRET.slice(0, 4));
    const chunk = new Uint8Array([...BYTES, ...SECRET.slice(0, 4)]);
    assertEquals(await chunks.get([0]), chunk);
    assertEquals(await readAll(await chunks.stream([0])), chunk);
    await chunks.set([0], OTHER);
    assertEquals(await chunks.get([0]), OTHER);
    assertEquals(await Deno.readFile(`${tiffs}/a/b.tif`), BYTES);
    assertEquals((await Deno.lstat(root + DATA)).isFile, true);
    await chunks.delete([0]);
    assertEquals(await filesIn(`${root}/c`), []);
  });
});

Deno.test("FileSystemStore reads chunks in parts in a linked folder, and says what is missing", async () => {
  await withPlaces(async ({ root, tiffs, store, link }) => {
    const chunks = await createArrayChunks(store, "", PARTS);
    await Deno.mkdir(`${tiffs}/c`);
    await Deno.remove(`${root}/c`);
    await link(`${tiffs}/c`, "root/c");
    await Deno.writeFile(`${tiffs}${DATA}`, BYTES);
    await assertRejects(() => chunks.get([0]), MissingPartError, SUM);
    await Deno.writeFile(`${tiffs}${SUM}`, OTHER.slice(0, 4));
    const chunk = new Uint8Array([...BYTES, ...OTHER.slice(0, 4)]);
    assertEquals(await chunks.get([0]), chunk);
    assertEquals(await Array.fromAsync(chunks.list()), [[0]]);
    await assertRejects(() => chunks.set([0], OTHER), Error, "only reads");
    assertEquals(await chunks.get([0]), chunk);
  });
});

/** Runs a change right before a file is opened the first times, and after it. */
async function atOpening(
  before: (count: number) => void,
  after: (count: number) => void,
  run: () => Promise<unknown>,
): Promise<void> {
  let count = 0;
  const { openSync } = Deno;
  await replaced("openSync", (path, options) => {
    const n = count++;
    before(n);
    try {
      return openSync(path, options);
    } finally {
      after(n);
    }
  }, run);
}

function relink(target: string, path: string): void {
  Deno.removeSync(path);
  Deno.symlinkSync(target, path);
}

const READS: Record<
  string,
  (store: FileSystemStore, key: StoreKey) => Promise<Uint8Array | undefined>
> = {
  get: (store, key) => store.get(key),
  getRange: (store, key) => store.getRange(key, { offset: 0, length: 99 }),
  stream: async (store, key) => await readAll(await store.stream(key)),
  group: (store, key) =>
    store.group(key, [key]).read((values) => values.get(key)),
  "a version": (store, key) =>
    store.group(key, [key]).read(async (values) => {
      const version = values.version(key);
      const range = { offset: 0, length: 99 };
      try {
        return version && await store.getRangeOf(version, key, range);
      } finally {
        version?.release();
      }
    }),
};

for (const [way, read] of Object.entries(READS)) {
  Deno.test(`FileSystemStore reads by ${way} the file that a link leads to after it is opened`, async () => {
    await withPlaces(async ({ root, tiffs, store, link }) => {
      await Deno.writeFile(`${tiffs}/other`, OTHER);
      await link(`${tiffs}/a/b.tif`, "root/k");
      await atOpening(
        (n) => n === 0 && relink(`${tiffs}/other`, `${root}/k`),
        () => {},
        async () => {
          const bytes = await read(store, "/k");
          // A version that is gone has no bytes.
          assertEquals(bytes, OTHER);
        },
      );
    });
  });

  Deno.test(`FileSystemStore reads by ${way} nothing that a link led to only while it was opened`, async () => {
    const reading = (
      places: Places,
      path: string,
      isMoved: boolean,
    ) => {
      const { root, outside, store } = places;
      const kept = `${root}/../kept`;
      return atOpening(
        (n) => {
          if (n > 0) return;
          Deno.renameSync(path, kept);
          Deno.symlinkSync(isMoved ? outside : `${outside}/secret`, path);
        },
        (n) => {
          if (n > 0) return;
          Deno.removeSync(path);
          Deno.renameSync(kept, path);
        },
        async () => assertEquals(await read(store, "/k"), BYTES),
      );
    };
    // The link itself, the file that it leads to, the folder of that file, and a file of the store.
    await withPlaces(async (places) => {
      await places.link(`${places.tiffs}/a/b.tif`, "root/k");
      await reading(places, `${places.root}/k`, false);
      await reading(places, `${places.tiffs}/a/b.tif`, false);
    });
    await withPlaces(async (places) => {
      await places.link(`${places.tiffs}/a/secret`, "root/k");
      await Deno.writeFile(`${places.tiffs}/a/secret`, BYTES);
      await reading(places, `${places.tiffs}/a`, true);
    });
    await withPlaces(async (places) => {
      await Deno.writeFile(`${places.root}/k`, BYTES);
      await reading(places, `${places.root}/k`, false);
    });
  });

  Deno.test(`FileSystemStore refuses to read by ${way} what leads out once it is opened`, async () => {
    // The link itself, the file that it leads to, the folder of that file, and a file of the store.
    for (
      const path of ["root/k", "tiffs/a/secret", "tiffs/a", "root/c/secret"]
    ) {
      await withPlaces(async ({ root, tiffs, outside, store, link }) => {
        for (const file of [`${tiffs}/a/secret`, `${root}/c/secret`]) {
          await Deno.writeFile(file, BYTES);
        }
        await link(`${tiffs}/a/secret`, "root/k");
        const isFolder = path === "tiffs/a";
        await atOpening(
          (n) => {
            if (n > 0) return;
            Deno.removeSync(`${root}/../${path}`, { recursive: true });
            const target = isFolder ? outside : `${outside}/secret`;
            Deno.symlinkSync(target, `${root}/../${path}`);
          },
          () => {},
          async () => {
            await assertRejects(
              () => read(store, path === "root/c/secret" ? "/c/secret" : "/k"),
              Error,
              "leads out of the store's root",
            );
          },
        );
      });
    }
  });
}

Deno.test("FileSystemStore gives up a link that leads to another file each time it is opened", async () => {
  await withPlaces(async ({ root, tiffs, store, link }) => {
    await Deno.writeFile(`${tiffs}/other`, OTHER);
    await link(`${tiffs}/a/b.tif`, "root/k");
    const change = (n: number) =>
      relink(`${tiffs}/${n % 2 === 0 ? "other" : "a/b.tif"}`, `${root}/k`);
    await atOpening(change, () => {}, async () => {
      await assertRejects(
        () => store.get("/k"),
        Error,
        'Key "/k" led to another file each of 100 times that it was opened',
      );
    });
  });
});

Deno.test("FileSystemStore never mixes a part that a link led to with parts of a later write", async () => {
  for (const hasOption of [true, false]) {
    await withPlaces(async ({ root, tiffs, store, link }) => {
      // Without the option, the link leads to a file below the root.
      const target = hasOption ? `${tiffs}/a/b.tif` : `${root}/kept`;
      if (!hasOption) await Deno.writeFile(target, BYTES);
      await link(target, `root${DATA}`);
      await store.set(SUM, SECRET.slice(0, 4));
      const reader = hasOption ? store : new FileSystemStore(root);
      const group = reader.group(DATA, [DATA, SUM]);
      await atOpening(
        (n) => {
          if (n > 0) return;
          // What a writer does between its first and its last step.
          Deno.removeSync(root + SUM);
          Deno.removeSync(root + DATA);
          Deno.writeFileSync(root + DATA, OTHER);
          Deno.writeFileSync(root + SUM, OTHER.slice(0, 4));
        },
        () => {},
        async () => {
          const read = await group.read((values) =>
            Promise.all([values.get(DATA), values.get(SUM)])
          );
          assertEquals(read, [OTHER, OTHER.slice(0, 4)]);
        },
      );
    });
  }
});
