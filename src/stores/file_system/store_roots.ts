import type { FileSystemRoot } from "./root.ts";

const roots = /* @__PURE__ */ new WeakMap<object, FileSystemRoot>();

/** Remembers the root of a file store, for modules that work on its files. */
export function rememberRoot(store: object, root: FileSystemRoot): void {
  roots.set(store, root);
}

/** The root of a file store; `undefined` for any other store. */
export function rootOf(store: object): FileSystemRoot | undefined {
  return roots.get(store);
}
