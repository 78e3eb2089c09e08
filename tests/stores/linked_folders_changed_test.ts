/** Links and files that change while a store with `followLinksInto` opens them. */
import { assertEquals, assertRejects } from "@std/assert";
import { FileSystemStore, type StoreKey } from "../../mod.ts";
import {
  BYTES,
  DATA,
  OTHER,
  type Places,
  SECRET,
  SUM,
  withPlaces,
} from "./linked_places.ts";
import { readAll } from "./store_values.ts";
import { replaced } from "./temp_dir.ts";

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
