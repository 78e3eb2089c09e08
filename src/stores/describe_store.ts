import { describeValue } from "../errors/mod.ts";

/**
 * A short description of a store for messages, such as
 * `FileSystemStore(/data/x.zarr)`. Works for any value: a store with a `toString`
 * of its own describes itself, a store of another package is described by its
 * class and its `url` or `root`. URLs are shown without credentials and query
 * strings, since messages end up in logs.
 */
export function describeStore(store: unknown): string {
  if (typeof store === "string") return `"${redactUrl(store)}"`;
  if (isStoreClass(store)) return `the class ${store.name}`;
  if (
    typeof store === "function" || Array.isArray(store) ||
    ArrayBuffer.isView(store)
  ) return describeValue(store);
  if (typeof store !== "object" || store === null) return String(store);
  if (store instanceof Map) return `Map(${store.size})`;
  if (typeof store.toString === "function") {
    const text = String(store);
    if (!text.startsWith("[object ")) return text;
  }
  const { constructor, url, root } = store as Record<string, unknown>;
  const name = typeof constructor === "function" ? constructor.name : "";
  const place = [url, root].find((place) =>
    typeof place === "string" || place instanceof URL
  );
  if (place !== undefined) {
    return `${name || "Store"}(${redactUrl(String(place))})`;
  }
  return name === "" || name === "Object" ? "a store object" : name;
}

/** A URL without user name and password, and with `?…` in place of a query string. */
export function redactUrl(url: string): string {
  return url
    .replace(/^((?:[a-z][a-z\d+.-]*:)?[\\/]{2})[^\\/?#]*@/i, "$1")
    .replace(/#.*$/s, "")
    .replace(/\?.+$/s, "?…");
}

/** Makes `console.log` and `Deno.inspect` print what `toString` returns. */
export function inspectAsString(store: object): void {
  for (const name of ["Deno.customInspect", "nodejs.util.inspect.custom"]) {
    // Defined for each object, since bundlers do not leave out an unused class that has
    // members with computed names.
    Object.defineProperty(store, Symbol.for(name), {
      configurable: true,
      value(this: object): string {
        return String(this);
      },
    });
  }
}

/**
 * Refuses a value that is not a store. For a path, a URL or a class, the message says which
 * store to construct.
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
  return `: use new FileSystemStore(${
    store instanceof URL ? `new URL(${place})` : place
  })`;
}

/** Whether a value is a class of stores, given in place of an instance. */
function isStoreClass(value: unknown): value is { name: string } {
  return typeof value === "function" &&
    typeof value.prototype?.get === "function";
}
