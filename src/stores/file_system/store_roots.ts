import type { FileSystemRoot } from "./root.ts";

/** The folder of a file store. */
export interface StoreRoot {
  readonly root: FileSystemRoot;
  /** Whether writers wait until everything is on the disk. */
  readonly isSynced: boolean;
}

const roots = /* @__PURE__ */ new WeakMap<object, StoreRoot>();

/** Remembers the root of a file store, for modules that work on its files. */
export function rememberRoot(store: object, root: StoreRoot): void {
  roots.set(store, root);
}

/** The root of a file store; `undefined` for any other store. */
export function rootOf(store: object): StoreRoot | undefined {
  return roots.get(store);
}
