import {
  FileSystemStore,
  HttpStore,
  MemoryStore,
  type Store,
} from "../../mod.ts";
import type { OpenedStore } from "../stores/conformance.ts";
import { serve, storeHandler } from "../stores/loopback.ts";
import { observed } from "../support/observed_store.ts";

/** Every kind of store, empty, and a store to write into if it is read-only. */
export const STORES: Record<
  string,
  { lacks: (keyof Store)[]; open(): Promise<OpenedStore> }
> = {
  MemoryStore: {
    lacks: [],
    open: () => Promise.resolve(writable(new MemoryStore())),
  },
  FileSystemStore: {
    lacks: [],
    async open() {
      const root = await Deno.makeTempDir();
      return {
        ...writable(new FileSystemStore(root)),
        close: () => Deno.remove(root, { recursive: true }),
      };
    },
  },
  HttpStore: {
    lacks: ["set", "delete", "list"],
    open() {
      const behind = new MemoryStore();
      const { url, close } = serve(storeHandler(behind));
      const store = new HttpStore(url);
      return Promise.resolve({ ...writable(behind), store, close });
    },
  },
  "a store of get, set and delete": {
    lacks: ["list"],
    open() {
      const memory = new MemoryStore();
      const store = observed(memory, () => {}, ["get", "set", "delete"]);
      return Promise.resolve({ ...writable(memory), store });
    },
  },
};

function writable(store: MemoryStore | FileSystemStore): OpenedStore {
  return { store, fill: (key, bytes) => store.set(key, bytes) };
}
