import {
  ConcatParts,
  FileSystemStore,
  HttpStore,
  MemoryStore,
  type Part,
  type Store,
} from "../../mod.ts";
import { type OpenedStore, testStore } from "../stores/conformance.ts";
import { serve, storeHandler } from "../stores/loopback.ts";
import { observed } from "../support/observed_store.ts";

/** Common parts, and parts that are hard to read. */
const CONFIGURATIONS = {
  "a header, the data and an index": [
    { keySuffix: ".header", size: 3 },
    { keySuffix: "" },
    { keySuffix: ".index", size: 2 },
  ],
  "the data alone": [{ keySuffix: "" }],
  "a part too large to be read whole": [
    { keySuffix: "/first", size: 263_000 },
    { keySuffix: "/empty", size: 0 },
    { keySuffix: "/rest" },
  ],
} satisfies Record<string, Part[]>;

/** All kinds of stores, empty; `fill` writes into stores that are read-only. */
const STORES: Record<string, () => Promise<OpenedStore>> = {
  MemoryStore: () => Promise.resolve(writable(new MemoryStore())),
  FileSystemStore: async () => {
    const root = await Deno.makeTempDir();
    return {
      ...writable(new FileSystemStore(root)),
      close: () => Deno.remove(root, { recursive: true }),
    };
  },
  HttpStore: () => {
    const behind = new MemoryStore();
    const { url, close } = serve(storeHandler(behind));
    return Promise.resolve({
      ...writable(behind),
      store: new HttpStore(url),
      close,
    });
  },
  "a store with only get and set": () => {
    const memory = new MemoryStore();
    return Promise.resolve({
      ...writable(memory),
      store: observed(memory, () => {}, ["get", "set"]),
    });
  },
};

/** The methods that a composed store lacks over these stores. */
const LACKS: Record<string, (keyof Store)[]> = {
  HttpStore: ["set", "delete", "list"],
  "a store with only get and set": ["delete", "list"],
};

function writable(store: MemoryStore | FileSystemStore): OpenedStore {
  return { store, fill: (key, bytes) => store.set(key, bytes) };
}

/** Tests composed stores over all kinds of stores. */
export function testComposedStores(
  configuration: keyof typeof CONFIGURATIONS,
): void {
  const parts: Part[] = CONFIGURATIONS[configuration];
  const transformer = new ConcatParts(parts);
  const boundaries: number[] = [];
  for (const { size } of parts) {
    if (size !== undefined) boundaries.push((boundaries.at(-1) ?? 0) + size);
  }
  for (const [name, open] of Object.entries(STORES)) {
    testStore(`${name} under concat-parts with ${configuration}`, async () => {
      const opened = await open();
      return {
        ...opened,
        store: transformer.apply(opened.store),
        async fill(key, bytes) {
          const pieces = transformer.split(bytes);
          for (const [i, { keySuffix }] of parts.entries()) {
            await opened.fill(`${key}${keySuffix}`, pieces[i]!);
          }
        },
      };
    }, {
      smallest: boundaries.at(-1) ?? 0,
      boundaries,
      lacks: LACKS[name] ?? [],
      hasWriter: name !== "HttpStore",
    });
  }
}
