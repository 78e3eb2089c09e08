import { walk } from "@std/fs/walk";
import {
  type ArrayChunks,
  createArrayChunks,
  MemoryStore,
  type Store,
} from "../../mod.ts";
import { createHandler, type HandlerOptions } from "../../serve.ts";
import { countingBytes } from "../support/bytes.ts";
import { encodeJson } from "../support/documents.ts";
import { arrayMetadata, concatParts } from "../support/metadata.ts";

/** The bytes of chunk (2, 1) of the array in `storeInParts`. */
export const CHUNK: Uint8Array = countingBytes(1000);
export const HEADER_SIZE = 64;
export const INDEX_SIZE = 36;

/** Creates the array `dem` in three parts, in a group with consolidated metadata. */
export async function createInParts(store: Store): Promise<ArrayChunks> {
  const metadata = arrayMetadata({
    chunk_key_encoding: {
      name: "suffix",
      configuration: { suffix: ".shard" },
    },
    storage_transformers: [
      concatParts(
        { key_suffix: ".header", size: HEADER_SIZE },
        { key_suffix: "" },
        { key_suffix: ".index", size: INDEX_SIZE },
      ),
    ],
  });
  const chunks = await createArrayChunks(store, "dem", metadata);
  const group = {
    zarr_format: 3,
    node_type: "group",
    consolidated_metadata: {
      kind: "inline",
      must_understand: false,
      metadata: { dem: metadata },
    },
  };
  await store.set!(
    "/zarr.json",
    encodeJson(group),
  );
  await chunks.set([2, 1], CHUNK);
  return chunks;
}

/** Makes all files of a folder an hour old. */
export async function makeOld(folder: string): Promise<void> {
  const date = new Date(Date.now() - 3_600_000);
  for await (const { path } of walk(folder, { includeDirs: false })) {
    await Deno.utime(path, date, date);
  }
}

/** Creates a store in memory with the array `dem`. */
export async function storeInParts(): Promise<MemoryStore> {
  const store = new MemoryStore();
  await createInParts(store);
  return store;
}

/** A handler that answers requests for paths, and collects the failures that it reports. */
export interface Served {
  (path: string, init?: RequestInit): Promise<Response>;
  readonly errors: unknown[];
}

/** Serves a store to the test. */
export function served(store: Store, options: HandlerOptions = {}): Served {
  const errors: unknown[] = [];
  const handler = createHandler(store, {
    onError: (error) => errors.push(error),
    ...options,
  });
  return Object.assign(
    (path: string, init?: RequestInit) =>
      handler(new Request(`http://localhost${path}`, init)),
    { errors },
  );
}

/** The bytes of a body that must have the length that its header says. */
export async function bytesOf(response: Response): Promise<Uint8Array> {
  const bytes = await response.bytes();
  const length = response.headers.get("content-length");
  if (length !== `${bytes.length}`) {
    throw new Error(`Found ${bytes.length} bytes, Content-Length: ${length}`);
  }
  return bytes;
}
