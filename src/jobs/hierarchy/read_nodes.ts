import { missingArray, readDocument } from "../../arrays/mod.ts";
import { inDocument, MetadataError } from "../../errors/mod.ts";
import {
  assertNodeDocument,
  isArrayDocument,
  isMembers,
  nodePaths,
  parseZarrJson,
} from "../../metadata/mod.ts";
import {
  describeStore,
  type StoreKey,
  type StoreOptions,
} from "../../stores/mod.ts";
import { readMarker } from "../convert/unfinished_marker.ts";
import { describePlace, documentKey, type Place } from "./node_location.ts";

/** A node of a hierarchy, with its document. */
export interface Node {
  /** The path below the outermost node, which has an empty path. */
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly document: unknown;
}

/** What happens to some of the nodes that are read. */
interface ReadNodesSettings {
  /**
   * Called with the path of each node whose document is neither that of an array nor that
   * of a group. The node is left out. By default, such a document is an error.
   */
  readonly onInvalid?: (path: string, error: MetadataError) => void;
  /**
   * Called with the path of each node whose document the store fails to read. The node is
   * left out. By default, such a failure is thrown.
   */
  readonly onUnreadable?: ((path: string, error: unknown) => void) | undefined;
  /**
   * Called with the sorted paths of all nodes below the outermost one, none of an array, and
   * returns those that are read.
   */
  readonly choose?:
    | ((paths: readonly string[]) => Promise<readonly string[]>)
    | undefined;
}

/**
 * Reads the documents of a node and of all nodes below it, in the order of their paths.
 * The nodes of a group are those that the store lists or, if it cannot list, those in
 * the group's consolidated metadata.
 *
 * @param settings What happens to some of the nodes.
 * @throws {MetadataError} If no node is there, a document is not valid, or the nodes of a
 * group cannot be found.
 */
export async function readNodes(
  place: Place,
  options: StoreOptions,
  { onInvalid, onUnreadable, choose }: ReadNodesSettings = {},
): Promise<Node[]> {
  const read = async (path: string) => {
    try {
      return await readNode(place, path, options);
    } catch (error) {
      if (error instanceof MetadataError && onInvalid) onInvalid(path, error);
      else if (onUnreadable && !options.signal?.aborted) {
        onUnreadable(path, error);
      } else throw error;
      return "invalid";
    }
  };
  const root = await read("");
  if (root === undefined) {
    if (await readMarker(place, options) !== undefined) {
      throw unfinishedError(place);
    }
    throw await missingArray(place.store, place.root, options);
  }
  const isInvalid = root === "invalid";
  if (!isInvalid && isArrayDocument(root.document)) {
    await choose?.([]);
    return [root];
  }
  // Only a listing shows whether there are nodes below a document that is not valid.
  if (isInvalid && typeof place.store.list !== "function") return [];
  const nodes = isInvalid ? [] : [root];
  const document = isInvalid ? undefined : root.document;
  const paths = await pathsBelow(place, document, options);
  for (const path of await choose?.(paths) ?? paths) {
    const node = await read(path);
    if (node === "invalid") continue;
    if (node !== undefined) {
      nodes.push(node);
      continue;
    }
    const missing = new MetadataError(
      `The consolidated metadata names a node at ${
        JSON.stringify(path)
      }, and there is none`,
      "/consolidated_metadata",
      locationOf(place),
    );
    if (onInvalid === undefined) throw missing;
    onInvalid(path, missing);
  }
  return nodes;
}

async function readNode(
  place: Place,
  path: string,
  options: StoreOptions,
): Promise<Node | undefined> {
  const key = documentKey(place, path);
  const bytes = await readDocument(place.store, key, options);
  if (bytes === undefined) return undefined;
  const store = describeStore(place.store);
  const document = inDocument(key, store, () => {
    const parsed = parseZarrJson(bytes);
    assertNodeDocument(parsed);
    return parsed;
  });
  return { path, bytes, document };
}

/** The sorted paths of all nodes below a group. */
async function pathsBelow(
  place: Place,
  document: unknown,
  options: StoreOptions,
): Promise<string[]> {
  const { store, root } = place;
  if (typeof store.list === "function") {
    const paths: string[] = [];
    const prefix = `${root}/` as StoreKey;
    for await (const key of store.list(prefix, options)) {
      if (!key.endsWith("/zarr.json")) continue;
      const path = key.slice(prefix.length, -"/zarr.json".length);
      if (key.length > prefix.length + "zarr.json".length) paths.push(path);
    }
    return paths.sort();
  }
  if (isMembers(document) && isMembers(document.consolidated_metadata)) {
    return nodePaths(document).filter((path) => path !== "").sort();
  }
  throw new MetadataError(
    "Cannot find the nodes of the group: the store cannot list, and the group has no consolidated metadata; expected the path of an array",
    "",
    locationOf(place),
  );
}

function unfinishedError(place: Place): MetadataError {
  return new MetadataError(
    `No Zarr node at ${
      describePlace(place)
    }: a conversion to it is not finished; run it again with the option "resume" or "finish"`,
  );
}

/** The document of the outermost node, for messages. */
function locationOf(place: Place): { document: string; store: string } {
  return {
    document: documentKey(place, ""),
    store: describeStore(place.store),
  };
}
