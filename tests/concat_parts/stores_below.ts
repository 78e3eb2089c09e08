import {
  ConcatParts,
  FileSystemStore,
  MemoryStore,
  type Store,
} from "../../mod.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { contentsOf } from "../support/bytes.ts";
import { ALL_METHODS, STORE_METHODS } from "../support/observed_store.ts";
import { type OnStep, stepped } from "../support/stepped_store.ts";
import { treeOf } from "../support/tree.ts";

/** An empty store for parts, of one of the kinds that store streams in different ways. */
export interface Below {
  /** All keys and values; on files, also folders and temporary files. */
  contents(): Promise<Record<string, unknown>>;
  /** Opens the store with a callback for its steps; all stores that are opened share their values. */
  open(onStep?: OnStep): Store;
}

const KINDS: Record<
  string,
  { onFiles?: true; methods: readonly (keyof Store)[]; parts?: ConcatParts }
> = {
  "memory": { methods: STORE_METHODS },
  "bytes alone": { methods: ["get", "set", "delete"] },
  "groups in memory": { methods: [...ALL_METHODS, "group"] },
  "groups on files": { onFiles: true, methods: [...ALL_METHODS, "group"] },
  "files": { onFiles: true, methods: ALL_METHODS },
  "files without writers": { onFiles: true, methods: STORE_METHODS },
  "files with get, set, delete and writer": {
    onFiles: true,
    methods: ["get", "set", "delete", "writer"],
  },
  "parts of parts in memory": {
    methods: [...ALL_METHODS, "group"],
    parts: new ConcatParts([{ keySuffix: "-a" }, { keySuffix: "-b", size: 0 }]),
  },
  "parts of parts on files": {
    onFiles: true,
    methods: ALL_METHODS,
    parts: new ConcatParts([{ keySuffix: "-a" }, { keySuffix: "-b", size: 0 }]),
  },
};

export type Kind = keyof typeof KINDS;
export const ALL_KINDS: readonly Kind[] = Object.keys(KINDS);

/** Whether the store replaces the parts of a chunk together. */
export function hasGroups(kind: Kind): boolean {
  return KINDS[kind]!.methods.includes("group");
}

/** Runs a test with an empty store of a kind. */
export async function withStore(
  kind: Kind,
  run: (below: Below) => Promise<void>,
): Promise<void> {
  const { onFiles, methods, parts } = KINDS[kind]!;
  function below(
    store: Store,
    contents: Below["contents"],
  ): Below {
    return {
      contents,
      open(onStep = () => {}) {
        const opened = stepped(store, onStep, methods);
        return parts ? parts.apply(opened) : opened;
      },
    };
  }
  if (onFiles) {
    await inTempDir((root) =>
      run(below(new FileSystemStore(root), () => treeOf(root)))
    );
  } else {
    const memory = new MemoryStore();
    await run(below(memory, () => contentsOf(memory)));
  }
}

/** Registers a test of `ConcatParts.apply` for stores of some kinds. */
export function onStoresBelow(
  name: string,
  test: (below: Below, kind: Kind) => Promise<void>,
  kinds: readonly Kind[] = ALL_KINDS,
): void {
  for (const kind of kinds) {
    Deno.test(`ConcatParts.apply: ${name}, over ${kind}`, async () => {
      await withStore(kind, (below) => test(below, kind));
    });
  }
}
