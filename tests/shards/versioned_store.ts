import type { MemoryStore, Store, StoreVersion } from "../../mod.ts";

/** The behaviour of a store that tells versions. */
export interface Told {
  /** Whether its versions are lasting. */
  isLasting: boolean;
  /** Whether it tells versions of absent values. */
  ofAbsent: boolean;
  /** The number of times that each task of a group runs. */
  runs: number;
  /** Called before each request, and at the end of each reading of a group. Fails it by throwing. */
  onRequest(request: string): Promise<void> | void;
}

/**
 * A store that counts the versions that are in use, and fails if one is used or released
 * after its end. Groups are read to their end also if the reading is aborted.
 */
export function versionedStore(stored: MemoryStore, given: Partial<Told> = {}) {
  const told: Told = {
    isLasting: true,
    ofAbsent: false,
    runs: 1,
    onRequest: () => {},
    ...given,
  };
  const versions = new Map<StoreVersion, StoreVersion | undefined>();
  const inUse = new Set<StoreVersion>();
  const log: string[] = [];
  async function request(text: string) {
    log.push(text);
    await told.onRequest(text);
  }
  const store: Store = {
    get: (key, options) => stored.get(key, options),
    set: (key, value, options) => stored.set(key, value, options),
    delete: (key, options) => stored.delete(key, options),
    group(key, keys) {
      const group = stored.group(key, keys);
      return {
        async read(task) {
          await request(`read ${key}`);
          const result = await group.read(async (values) => {
            for (let run = 1;; run++) {
              const result = await task({
                get: (key) => values.get(key),
                getRange: (key, range) => values.getRange(key, range),
                size: (key) => values.size(key),
                stream: (key) => values.stream(key),
                version(key) {
                  const version = values.version(key);
                  if (version === undefined && !told.ofAbsent) return undefined;
                  const own: StoreVersion = {
                    isLasting: told.isLasting,
                    release() {
                      if (!inUse.delete(own)) throw new Error("Released twice");
                    },
                  };
                  versions.set(own, version);
                  inUse.add(own);
                  return own;
                },
              });
              if (run === told.runs) return result;
            }
          });
          await told.onRequest(`end of read ${key}`);
          return result;
        },
      };
    },
    async getRangeOf(version, key, range, options) {
      if (!inUse.has(version)) throw new Error("Used after its end");
      await request(`getRangeOf ${key}`);
      options?.signal?.throwIfAborted();
      if (!inUse.has(version)) throw new Error("Released while it was used");
      const own = versions.get(version);
      return own && await stored.getRangeOf!(own, key, range);
    },
  };
  return { store, told, log, inUse };
}
