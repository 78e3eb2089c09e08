import { describe } from "../errors/mod.ts";
import { isMetadataKey, type StoreKey } from "../stores/mod.ts";

/** The folder of an archive whose entries are shown. */
export interface ArchiveFolder {
  /** The path of the folder with `/` at its end; empty for the root of the archive. */
  readonly path: string;
  /** The folders at the root of the archive that hold a node, if none is at the root. */
  readonly nodes: readonly string[];
}

/** The folder in which macOS keeps the attributes of files. */
const OF_MACOS = "__MACOSX";

/**
 * Finds the folder of an archive whose entries are shown.
 *
 * Programs that pack a folder put all entries into a folder of its name. So if no node is
 * at the root of the archive, and only one folder there holds one, this folder takes the
 * place of the root.
 *
 * @param names The names of all entries.
 * @param path The path of the node, from the root of the archive or from that folder.
 * @throws {RangeError} If names are joined by backslashes.
 */
export function findFolder(
  key: StoreKey,
  names: Iterable<string>,
  path: string,
): ArchiveFolder {
  const given = path === "" ? "" : `${path}/`;
  const documents = new Set<string>();
  let backslashed: string | undefined;
  for (const name of names) {
    if (isMetadataKey(name)) {
      documents.add(name.slice(0, name.lastIndexOf("/") + 1));
    } else if (name.includes("\\")) backslashed ??= name;
  }
  if (documents.has("")) return { path: given, nodes: [] };
  if (documents.size === 0 && backslashed !== undefined) {
    throw new RangeError(
      `Archive ${describe(key)} has the entry ${
        describe(backslashed)
      }, with a backslash, where names in zip files are joined by "/": unpack the file, and pack it by zip -0`,
    );
  }
  const nodes = Array.from(documents).filter((folder) =>
    /^[^/]+\/$/.test(folder) && folder !== `${OF_MACOS}/`
  );
  const isAtRoot = documents.has(given) || nodes.length !== 1;
  return { path: isAtRoot ? given : nodes[0]! + given, nodes };
}
