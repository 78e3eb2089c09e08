import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import * as zarr from "zarrita";
import {
  type ArrayMetadata,
  createArrayChunks,
  encodeShard,
  FileSystemStore,
  MemoryStore,
  openArrayChunks,
} from "../../mod.ts";
import { registerCodecs, setSharded } from "../../zarrita.ts";
import { scheduledStore } from "../shards/scheduled_store.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { encodeJson, readJson } from "../support/documents.ts";
import { concatParts } from "../support/metadata.ts";
import { withoutVersions } from "../support/without_versions.ts";
import {
  layoutOf,
  openIn,
  shardedMetadata,
  type Writable,
} from "./sharded_array.ts";

registerCodecs(zarr.registry);

/** The array grows up to this length. */
const LONGEST = 22;
const LOCATIONS = ["start", "end"] as const;
const PARTS = [
  [],
  [{ key_suffix: "" }, { key_suffix: ".index", size: 36 }],
];

type Opened = Awaited<ReturnType<typeof openIn>>;

interface Step {
  do:
    | "get"
    | "set"
    | "setSharded"
    | "chunks"
    | "attributes"
    | "append"
    | "order"
    | "open";
  wrapper: number;
  start: number;
  count: number;
  prefix: number;
}

const anyStep: fc.Arbitrary<Step> = fc.record({
  do: fc.constantFrom(
    "get",
    "get",
    "set",
    "set",
    "setSharded",
    "setSharded",
    "chunks",
    "attributes",
    "append",
    "order",
    "open",
  ),
  wrapper: fc.nat(2),
  start: fc.nat(LONGEST - 1),
  count: fc.integer({ min: 1, max: 7 }),
  prefix: fc.nat(9),
});

/** An array in a store, with wrappers that were opened at different times, and the elements that it must have. */
class Oracle {
  readonly #store: Writable;
  readonly #wrappers: Opened[] = [];
  readonly #elements = new Array<number>(LONGEST).fill(0);
  #length = 11;
  #value = 0;
  #takesPrefix = false;

  constructor(store: Writable) {
    this.#store = store;
  }

  async create(metadata: ArrayMetadata): Promise<void> {
    this.#takesPrefix = layoutOf(metadata).indexLocation === "end";
    await createArrayChunks(this.#store, "", metadata);
    for (let i = 0; i < 3; i++) this.#wrappers.push(await openIn(this.#store));
  }

  async run(step: Step): Promise<void> {
    const array = this.#wrappers[step.wrapper]!;
    const start = step.start % array.shape[0]!;
    const stop = Math.min(array.shape[0]!, start + step.count);
    const selection = [zarr.slice(start, stop)];
    const value = 1 + this.#value++ % 250;
    // Of zeros, so that inner chunks may move.
    const prefix = new Uint8Array(step.prefix);
    switch (step.do) {
      case "get": {
        const { data } = await zarr.get(array, selection);
        assertEquals(Array.from(data), this.#elements.slice(start, stop));
        return;
      }
      case "set":
        await zarr.set(array, selection, value);
        this.#elements.fill(value, start, stop);
        return;
      case "setSharded": {
        const options = this.#takesPrefix && step.prefix > 0 ? { prefix } : {};
        await setSharded(zarr, array, selection, value, options);
        this.#elements.fill(value, start, stop);
        return;
      }
      case "chunks":
        return await this.#replaceShard(Math.floor(start / 4), value, prefix);
      case "append":
        this.#length = Math.min(LONGEST, this.#length + step.count);
        return await this.#change({ shape: [this.#length] });
      case "attributes":
        return await this.#change({ attributes: { value } });
      case "order":
        return await this.#change({}, true);
      case "open":
        this.#wrappers[step.wrapper] = await openIn(this.#store);
    }
  }

  /** Asserts the elements as new wrappers read them, and the old ones that can know them. */
  async assertElements(): Promise<void> {
    for (const array of [await openIn(this.#store), ...this.#wrappers]) {
      const { data } = await zarr.get(array);
      assertEquals(Array.from(data), this.#elements.slice(0, array.shape[0]));
    }
  }

  /** Replaces a shard by `ArrayChunks`. */
  async #replaceShard(
    shard: number,
    value: number,
    prefix: Uint8Array,
  ): Promise<void> {
    const chunks = await openArrayChunks(this.#store);
    const layout = layoutOf(chunks.metadata);
    // Some inner chunks are absent, and so are all past the end of the array.
    const inner = [0, 2].map((offset) => {
      const first = 4 * shard + offset;
      const isAbsent = (value + offset) % 3 === 0 || first >= this.#length;
      const bytes = new Uint8Array(2);
      if (!isAbsent) bytes.fill(value + offset, 0, this.#length - first);
      bytes.forEach((byte, i) => {
        if (first + i < LONGEST) this.#elements[first + i] = byte;
      });
      return isAbsent ? undefined : bytes;
    });
    const options = this.#takesPrefix ? { prefix } : {};
    await chunks.set([shard], encodeShard(inner, layout, options));
  }

  /** Changes the document, as another program does. */
  async #change(members: object, isReversed = false): Promise<void> {
    const found = await readJson(this.#store as MemoryStore, "/zarr.json");
    const document = { ...found as object, ...members };
    const entries = Object.entries(document);
    if (isReversed) entries.reverse();
    await this.#store.set!(
      "/zarr.json",
      encodeJson(Object.fromEntries(entries)),
    );
  }
}

/** A store for each test run. */
const STORES = {
  MemoryStore: { open: () => new MemoryStore(), runs: 60 },
  "a store without versions": {
    open: () => withoutVersions(new MemoryStore()),
    runs: 60,
  },
  FileSystemStore: {
    open: (folder: string) => new FileSystemStore(folder),
    runs: 10,
  },
};

const anyMetadata = fc.record({
  location: fc.constantFrom(...LOCATIONS),
  parts: fc.constantFrom(...PARTS),
}).map(({ location, parts }) =>
  shardedMetadata({
    shape: [11],
    ...parts.length > 0 && location === "end"
      ? { storage_transformers: [concatParts(...parts)] }
      : {},
  }, { location })
);

for (const [name, { open, runs }] of Object.entries(STORES)) {
  Deno.test(`wrappers of ${name} read and keep all elements, whoever writes, and whatever happens to the document`, async () => {
    await fc.assert(
      fc.asyncProperty(
        anyMetadata,
        fc.array(anyStep, { minLength: 3, maxLength: 25 }),
        (metadata, steps) =>
          inTempDir(async (folder) => {
            const oracle = new Oracle(open(folder));
            await oracle.create(metadata);
            for (const step of steps) await oracle.run(step);
            await oracle.assertElements();
          }),
      ),
      { numRuns: runs },
    );
  });
}

Deno.test("wrappers write different inner chunks at the same time, while the document changes and arrays are opened again", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      anyMetadata,
      fc.array(
        fc.record({
          do: fc.constantFrom("set", "setSharded", "document", "get", "open"),
          wrapper: fc.nat(1),
          inner: fc.nat(4),
          isPartial: fc.boolean(),
          wait: fc.nat(6),
        }),
        { minLength: 2, maxLength: 12 },
      ),
      async (scheduler, metadata, steps) => {
        const stored = new MemoryStore();
        await createArrayChunks(stored, "", metadata);
        const written = new Set<number>();
        const elements = Array.from({ length: 11 }, (_, i) => i + 1);
        const first = await openIn(withoutVersions(stored));
        await setSharded(zarr, first, null, Uint8Array.from(elements));
        const store = scheduledStore(stored, scheduler) as Writable;
        const opening = Promise.all([openIn(store), openIn(store)]);
        await scheduler.waitFor(opening);
        const wrappers = await opening;
        await scheduler.waitFor(Promise.all(steps.map(async (step, i) => {
          for (let turn = 0; turn < step.wait; turn++) {
            await scheduler.schedule(Promise.resolve(), `wait ${i}`);
          }
          const array = wrappers[step.wrapper]!;
          const start = 2 * step.inner;
          const stop = start + (step.isPartial ? 1 : 2);
          if (step.do === "document") {
            const document = { ...metadata, attributes: { i } };
            await store.set("/zarr.json", encodeJson(document));
          } else if (step.do === "open") {
            await zarr.open(array.store, { kind: "array" });
          } else if (step.do === "get") {
            const { data } = await zarr.get(array, [zarr.slice(10)]);
            data.forEach((value, i) => {
              assert(value === i + 1 || value >= 100, `${value} at ${i}`);
            });
          } else if (!written.has(step.inner)) {
            written.add(step.inner);
            elements.fill(100 + i, start, stop);
            const set = step.do === "set"
              ? zarr.set(array, [zarr.slice(start, stop)], 100 + i)
              : setSharded(zarr, array, [zarr.slice(start, stop)], 100 + i);
            await set;
          }
        })));
        const { data } = await zarr.get(await openIn(stored));
        assertEquals(Array.from(data), elements);
      },
    ),
    { numRuns: 100 },
  );
});
