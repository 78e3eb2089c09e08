import { crc32, deflateRawSync } from "node:zlib";
import type { StoreKey } from "../../mod.ts";
import { type MadeEntry, makeZip, slowCrc32 } from "./make_zip.ts";

/** An entry by its content, which may be deflated. */
export interface ArchiveEntry extends Omit<MadeEntry, "bytes"> {
  readonly content: Uint8Array;
  readonly isDeflated?: boolean;
}

/** Makes an archive of entries by their contents. */
export function makeArchive(
  entries: readonly ArchiveEntry[],
  options?: Parameters<typeof makeZip>[1],
): Uint8Array {
  return makeZip(
    entries.map(({ content, isDeflated, ...entry }) => ({
      ...entry,
      ...isDeflated
        ? {
          method: 8,
          bytes: new Uint8Array(deflateRawSync(content)),
          listed: {
            size: content.length,
            checksum: slowCrc32(content),
            ...entry.listed,
          },
        }
        : { bytes: content },
    })),
    options,
  ).file;
}

/** Makes a long entry of deflated bytes. `listed` are other numbers in the directory. */
export function deflatedEntry(
  name: string,
  content: Uint8Array,
  listed: MadeEntry["listed"] = {},
): MadeEntry {
  return {
    name,
    bytes: new Uint8Array(deflateRawSync(content, { level: 1 })),
    method: 8,
    listed: { size: content.length, checksum: crc32(content), ...listed },
  };
}

/** Makes an archive of values by their keys, of which every second one is deflated. */
export function archiveOf(
  values: Iterable<readonly [StoreKey, Uint8Array]>,
): Uint8Array {
  return makeArchive(Array.from(values, ([key, content], i) => ({
    name: key.slice(1),
    content,
    isDeflated: i % 2 === 1,
    localExtra: i % 3 === 0 ? 28 : 0,
  })));
}
