import { FileSystemStore, type StoreKey } from "../../mod.ts";

// deno-lint-ignore no-explicit-any -- any document
type Document = any;

/** A node in a folder. */
export interface FoundNode {
  /** Its path below the folder; empty for the folder itself. */
  readonly path: string;
  readonly kind: "array" | "group" | "v2 array";
  readonly document: Document;
}

/** All nodes in a folder, by path. */
export async function nodesIn(folder: string): Promise<FoundNode[]> {
  const store = new FileSystemStore(folder);
  const nodes: FoundNode[] = [];
  for await (const key of store.list()) {
    const name = key.slice(key.lastIndexOf("/") + 1);
    if (name !== "zarr.json" && name !== ".zarray") continue;
    const document = await exactDocument(store, key);
    const kind = name === ".zarray" ? "v2 array" : document.node_type;
    nodes.push({ path: key.slice(1, -name.length - 1), kind, document });
  }
  return nodes.sort((a, b) => a.path < b.path ? -1 : 1);
}

/** Why zarrita alone refuses an array or takes other bytes for its elements; `undefined` where it should not. */
export function beyondZarrita(document: Document): string | undefined {
  const { codecs, chunk_key_encoding: keys, storage_transformers } = document;
  if (storage_transformers?.length > 0) return "parts";
  if (!["default", "v2"].includes(keys.name)) return "keys";
  if (codecs.some(isBare)) return "a codec without a configuration";
  const shards = codecs.find(isSharding);
  if (shards === undefined) return undefined;
  if (codecs.length > 1) return "codecs around shards";
  const { codecs: inner, index_location } = shards.configuration;
  if (index_location === "start") return "an index at the start";
  if (inner.some(isBare)) return "a codec without a configuration";
  return inner.some(isSharding) ? "shards in shards" : undefined;
}

function isSharding(codec: Document): boolean {
  return codec.name === "sharding_indexed";
}

/** Whether zarrita misses the configuration of a codec. */
function isBare(codec: Document): boolean {
  return codec.configuration === undefined &&
    !["bytes", "crc32c"].includes(codec.name);
}

/** A document in which numbers stay as they are written. */
async function exactDocument(
  store: FileSystemStore,
  key: StoreKey,
): Promise<Document> {
  const text = new TextDecoder().decode(await store.get(key));
  return JSON.parse(text, (_, value, context?: { source?: string }) => {
    const source = context?.source;
    return typeof value === "number" && String(value) !== source
      ? rawJSON(source!)
      : value;
  });
}

/** A number in JSON just as it is written; TypeScript does not know it yet. */
export const { rawJSON } = JSON as unknown as {
  rawJSON: (text: string) => unknown;
};
