import type { Store, StoreKey } from "../../mod.ts";

export function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** Encodes a metadata document without spaces, so that tests see whether it was written again. */
export function encodeJson(document: unknown): Uint8Array {
  return utf8(JSON.stringify(document));
}

/** Reads the text under a key. */
export async function readText(store: Store, key: StoreKey): Promise<string> {
  return new TextDecoder().decode((await store.get(key))!);
}

// deno-lint-ignore no-explicit-any -- tests know the content of their documents
export async function readJson(store: Store, key: StoreKey): Promise<any> {
  return JSON.parse(await readText(store, key));
}

/** Composes the metadata of a group, with consolidated metadata if nodes are given. */
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

/** Composes the `.zarray` of a small Zarr v2 array of 2 × 1 chunks, with changes. */
export function v2Metadata(
  changes: Record<string, unknown> = {},
): Record<string, unknown> {
  return {
    zarr_format: 2,
    shape: [3, 2],
    chunks: [2, 2],
    dtype: "|u1",
    compressor: null,
    fill_value: 0,
    order: "C",
    filters: null,
    ...changes,
  };
}

/** The `.zgroup` of a Zarr v2 group. */
export const V2_GROUP: Readonly<Record<string, unknown>> = { zarr_format: 2 };
