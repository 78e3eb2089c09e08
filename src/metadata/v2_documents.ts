import { changeZarrJson, isMembers } from "./json.ts";

/**
 * The names of the documents of Zarr v2. Programs that migrate arrays to Zarr v3 leave them
 * beside `zarr.json`. They then describe chunk keys that no chunk has any more.
 */
export const V2_DOCUMENTS: readonly string[] = [
  ".zarray",
  ".zgroup",
  ".zattrs",
  ".zmetadata",
];

const V2_DOCUMENT = /\/\.z(?:array|group|attrs|metadata)$/;

/** Whether a key is that of a document of Zarr v2. */
export function isV2Document(key: string): boolean {
  return V2_DOCUMENT.test(key);
}

/** The folders of the nodes in consolidated metadata of Zarr v2, such as `a/b/`. */
export function v2Folders(bytes: Uint8Array): Set<string> {
  const folders = new Set<string>();
  withoutV2Nodes(bytes, (folder) => {
    folders.add(folder);
    return false;
  });
  return folders;
}

/**
 * Leaves nodes out of consolidated metadata of Zarr v2.
 *
 * @param isLeftOut Called with the folder of each node, such as `a/b/`.
 * @returns The same bytes if nothing changes.
 * @throws {MetadataError} If the document is not JSON.
 */
export function withoutV2Nodes(
  bytes: Uint8Array,
  isLeftOut: (folder: string) => boolean,
): Uint8Array {
  return changeZarrJson(bytes, (document) => {
    if (!isMembers(document) || !isMembers(document.metadata)) return document;
    const all = Object.entries(document.metadata);
    const left = all.filter(([name]) =>
      !isV2Document(`/${name}`) ||
      !isLeftOut(name.slice(0, name.lastIndexOf("/") + 1))
    );
    return left.length === all.length
      ? document
      : { ...document, metadata: Object.fromEntries(left) };
  });
}
