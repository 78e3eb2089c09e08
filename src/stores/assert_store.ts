import { describeStore, isStoreClass, redactUrl } from "./describe_store.ts";

/**
 * Refuses what is not a store, and says which store to construct where a path, a
 * URL or a class was given.
 */
export function assertStore(store: unknown): void {
  const isObject = typeof store === "object" && store !== null;
  if (isObject && typeof (store as { get?: unknown }).get === "function") {
    return;
  }
  throw new TypeError(
    `Expected a store, an object with a "get" method, found ${
      describeStore(store instanceof URL ? store.href : store)
    }${advice(store)}`,
  );
}

function advice(store: unknown): string {
  if (store instanceof Promise) return ": await it";
  if (isStoreClass(store)) return `: use new ${store.name}(…)`;
  if (typeof store !== "string" && !(store instanceof URL)) return "";
  const place = `"${redactUrl(String(store))}"`;
  if (/^https?:/i.test(String(store))) return `: use new HttpStore(${place})`;
  if (!("Deno" in globalThis)) {
    const path = store instanceof URL ? store.pathname : store;
    return `: in Node, use new FileSystemStore(${
      JSON.stringify(path)
    }) of "@zarrita/storage", and in browsers HttpStore`;
  }
  return `: use new FileSystemStore(${
    store instanceof URL ? `new URL(${place})` : place
  })`;
}
