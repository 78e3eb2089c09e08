import {
  type ArrayChunks,
  createArrayChunks,
  MemoryStore,
  type Store,
} from "../../mod.ts";
import { countingBytes } from "./bytes.ts";
import { encodeJson, groupMetadata, utf8 } from "./documents.ts";
import { arrayMetadata, concatParts } from "./metadata.ts";

/** Metadata of an array whose chunks have a suffix and their checksum as a part. */
export const IN_PARTS = {
  chunk_key_encoding: {
    name: "suffix",
    configuration: {
      suffix: ".bin",
      base_encoding: { name: "default", configuration: { separator: "/" } },
    },
  },
  storage_transformers: [
    concatParts({ key_suffix: "" }, { key_suffix: ".crc", size: 2 }),
  ],
};

/** Creates an empty array in parts, of 3 × 2 chunks, in a new store. */
export async function arrayInParts(
  path: string,
  changes: Record<string, unknown> = {},
): Promise<{ stored: MemoryStore; chunks: ArrayChunks }> {
  const stored = new MemoryStore();
  const metadata = arrayMetadata({ ...IN_PARTS, ...changes });
  return { stored, chunks: await createArrayChunks(stored, path, metadata) };
}

/** Creates a group with an array in parts and other nodes, and its plain view in another store. */
export async function smallHierarchy(): Promise<
  { stored: MemoryStore; plain: MemoryStore }
> {
  const { stored, chunks } = await arrayInParts("g/parts");
  const plain = new MemoryStore();
  for (const coordinates of [[2, 1], [1, 0]]) {
    const bytes = countingBytes(7, coordinates[0]);
    await chunks.set(coordinates, bytes);
    await plain.set(`/g/parts/c/${coordinates.join("/")}`, bytes);
  }
  const keys = { name: "default", configuration: { separator: "/" } };
  const metadata = arrayMetadata({ chunk_key_encoding: keys });
  const text = JSON.stringify(metadata, null, 2);
  await plain.set("/g/parts/zarr.json", utf8(`${text}\n`));
  for (const store of [stored, plain]) {
    await store.set("/g/zarr.json", encodeJson(groupMetadata()));
    await store.set("/g/plain/zarr.json", encodeJson(arrayMetadata()));
    await store.set("/g/plain/c/0/1", countingBytes(5));
    await store.set("/g/old é/.zarray", utf8("{ }"));
    await store.set("/g/old é/0.1", countingBytes(5));
  }
  return { stored, plain };
}

export async function copyInto(target: Store, source: MemoryStore) {
  for await (const key of source.list()) {
    await target.set!(key, (await source.get(key))!);
  }
}
