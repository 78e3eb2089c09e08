import type { Store, StoreKey } from "../../mod.ts";

export function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** A metadata document without spaces, so that what writes it again shows. */
export function encodeJson(document: unknown): Uint8Array {
  return utf8(JSON.stringify(document));
}

/** The text under a key that has a value. */
export async function readText(store: Store, key: StoreKey): Promise<string> {
  return new TextDecoder().decode((await store.get(key))!);
}

// deno-lint-ignore no-explicit-any -- what a document holds, tests know
export async function readJson(store: Store, key: StoreKey): Promise<any> {
  return JSON.parse(await readText(store, key));
}

/** A group's document, with the consolidated metadata of the nodes in it. */
export function groupMetadata(
  nodes?: Record<string, unknown>,
): Record<string, unknown> {
  return {
    zarr_format: 3,
    node_type: "group",
    attributes: {},
    ...nodes && {
      consolidated_metadata: {
        kind: "inline",
        must_understand: false,
        metadata: nodes,
      },
    },
  };
}
