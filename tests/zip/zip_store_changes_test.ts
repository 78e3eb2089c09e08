/** Archives that other programs replace while many reads are under way. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  BaseStore,
  FileSystemStore,
  MemoryStore,
  type Snapshot,
  type StoreKey,
} from "../../mod.ts";
import { ZipStore } from "../../zip.ts";
import { readAll } from "../stores/store_values.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { runs } from "../support/runs.ts";
import { makeArchive } from "./archives.ts";

const KEY = "/x.zip";
const KEYS = ["/zarr.json", "/c/0", "/c/1", "/c/2"] as const;

const DEFLATED = "/c/1";

/** An archive whose values say which one it is, at other places in each. */
function archive(number: number): Uint8Array {
  return makeArchive(KEYS.map((key, i) => ({
    name: key.slice(1),
    content: new Uint8Array(40 + number % 3).fill(number),
    isDeflated: key === DEFLATED,
    localExtra: (number + i) % 2 * 12,
    gap: (number * 7 + i) % 5,
  })));
}

/** A store that answers after some turns of the event loop. */
class Delayed extends BaseStore {
  readonly #store: MemoryStore;
  readonly #turns: () => number;

  constructor(store: MemoryStore, turns: () => number) {
    super();
    this.#store = store;
    this.#turns = turns;
  }

  async #wait() {
    for (let i = this.#turns(); i > 0; i--) await Promise.resolve();
  }

  override async read<T>(
    keys: readonly StoreKey[],
    task: (values: Snapshot) => Promise<T>,
  ): Promise<T> {
    await this.#wait();
    return await this.#store.read(keys, (values) =>
      task({
        read: async (...args) => {
          await this.#wait();
          return await values.read(...args);
        },
        stream: (...args) => values.stream(...args),
        size: (...args) => values.size(...args),
        version: (key) => values.version(key),
      }));
  }

  async readOf(...args: Parameters<MemoryStore["readOf"]>) {
    await this.#wait();
    const bytes = await this.#store.readOf(...args);
    await this.#wait();
    return bytes;
  }
}

/** Returns the number of the archive that bytes are of, which all of them say. */
function numberOf(bytes: Uint8Array | undefined): number {
  assert(bytes !== undefined && bytes.length > 0);
  assertEquals(new Set(bytes).size, 1, `${bytes}`);
  return bytes[0]!;
}

/** Reads in some way; returns the number of the archive. */
const WAYS: readonly ((store: ZipStore, key: StoreKey) => Promise<number>)[] = [
  async (store, key) => numberOf(await store.get(key)),
  async (store, key) => {
    const bytes = await store.get(key);
    assertEquals(bytes!.length, 40 + numberOf(bytes) % 3);
    return numberOf(bytes);
  },
  async (store, key) =>
    numberOf(await store.getRange(key, { offset: 3, length: 30 })),
  async (store, key) =>
    numberOf(await store.getRange(key, { suffixLength: 9 })),
  async (store, key) => numberOf(await readAll(await store.stream(key))),
  (store, key) =>
    store.read(KEYS, async (values) => {
      const all = await Promise.all(KEYS.map((key) => values.read(key)));
      const numbers = new Set(all.map(numberOf));
      assertEquals(numbers.size, 1);
      return numberOf(await values.read(key, { suffixLength: 2 }));
    }),
];

Deno.test("ZipStore never mixes archives, in any order of reads and changes", async () => {
  const step = fc.oneof(
    fc.constant("replace" as const),
    fc.record({ way: fc.nat(WAYS.length - 1), key: fc.constantFrom(...KEYS) }),
    fc.nat({ max: 20 }),
  );
  let [read, refused] = [0, 0];
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 5, maxLength: 30 }),
      fc.array(fc.nat(6), { minLength: 1, maxLength: 9 }),
      fc.boolean(),
      async (steps, turns, follow) => {
        let present = 1;
        const files = new MemoryStore([[KEY, archive(present)]]);
        let turn = 0;
        const store = new ZipStore(
          new Delayed(files, () => turns[turn++ % turns.length]!),
          KEY,
          { follow },
        );
        const first = new Set<number>();
        const reads: Promise<void>[] = [];
        for (const each of steps) {
          if (each === "replace") await files.set(KEY, archive(++present));
          else if (typeof each === "number") {
            for (let i = 0; i < each; i++) await Promise.resolve();
          } else {
            const earliest = present;
            const reading = WAYS[each.way]!(store, each.key).then((number) => {
              first.add(number);
              // Inflated values may be a second old.
              const least = each.key === DEFLATED ? 1 : earliest;
              if (follow) assert(number >= least && number <= present);
              read++;
            }, (error) => {
              const { message } = error as Error;
              if (!/^Archive .* changed/.test(message)) throw error;
              refused++;
            });
            reads.push(reading);
          }
        }
        await Promise.all(reads);
        // Without following, all reads see the archive that was opened.
        if (!follow) assert(first.size <= 1);
      },
    ),
    { numRuns: runs(400) },
  );
  assert(
    read > runs(400) && refused > 0,
    `${read} read, ${refused} refused`,
  );
});

Deno.test("ZipStore follows a file that is replaced all the time, and leaves none open", async () => {
  await inTempDir(async (folder) => {
    const path = `${folder}${KEY}`;
    const put = async (number: number) => {
      await Deno.writeFile(`${path}.new`, archive(number));
      await Deno.rename(`${path}.new`, path);
    };
    await put(1);
    const store = new ZipStore(new FileSystemStore(folder), KEY, {
      follow: true,
    });
    let isEnded = false;
    let found = 0;
    const replacing = (async () => {
      for (let number = 2; number < 60; number++) await put(number);
      isEnded = true;
    })();
    while (!isEnded) {
      const way = WAYS[found++ % WAYS.length]!;
      await way(store, KEYS[found % KEYS.length]!).catch((error) => {
        if (!/changed/.test(`${error}`)) throw error;
      });
    }
    await replacing;
    assertEquals(numberOf(await store.get("/c/0")), 59);
    assert(found > 5);
  });
});
