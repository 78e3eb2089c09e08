import { assertIndexPart } from "../../arrays/index_part.ts";
import { storageOf } from "../../arrays/storage_of.ts";
import { assertPortableKeys } from "../../arrays/portable_keys.ts";
import { resolveParts } from "../../arrays/part_notation.ts";
import {
  innermostEncoding,
  SuffixChunkKeyEncoding,
} from "../../chunk_key_encoding/suffix_chunk_key_encoding.ts";
import { toChunkKeyEncoding } from "../../chunk_key_encoding/to_chunk_key_encoding.ts";
import { ConcatParts } from "../../concat_parts/concat_parts.ts";
import type {
  ArrayMetadata,
  NamedConfiguration,
} from "../../metadata/array_metadata.ts";
import { describe } from "../../metadata/describe.ts";
import { MetadataError } from "../../metadata/metadata_error.ts";
import { isSameJson } from "../../metadata/same_json.ts";
import { chunkSizes } from "../../splitter/chunk_size.ts";
import { PLAIN } from "../../views/plain_translation.ts";
import type { LayoutOptions } from "./layout_options.ts";
import { writtenOut } from "../hierarchy/same_document.ts";

/** An error about metadata that options give to an array, and not about that of the source. */
export class LayoutError extends MetadataError {}

/** Refuses options that contradict each other. */
export function assertLayout(options: LayoutOptions): void {
  const { metadata, plain, ...others } = options;
  const given = [
    ...metadata === undefined ? [] : ["metadata"],
    ...plain ? ["plain"] : [],
  ];
  for (const name of ["keyEncoding", "suffix", "parts"] as const) {
    if (others[name] !== undefined) given.push(name);
  }
  if (given.length < 2 || !(metadata !== undefined || plain)) return;
  throw new RangeError(
    `Options ${describe(given[0])} and ${
      describe(given[1])
    } both say how chunks are stored; expected one of them`,
  );
}

/**
 * Gives an array another layout.
 *
 * @param metadata The array's metadata.
 * @param path The array's path, for a function in the options.
 * @returns The new metadata, checked; the same object if nothing changes.
 * @throws {MetadataError} If the metadata is not valid.
 * @throws {LayoutError} If the new metadata is not valid, or other chunks would need it.
 * @throws {RangeError} If the parts do not fit the codecs.
 */
export function changeLayout(
  metadata: ArrayMetadata,
  path: string,
  options: LayoutOptions,
): ArrayMetadata {
  if (options.where?.(metadata, path) === false) return metadata;
  try {
    return changedLayout(metadata, path, options);
  } catch (error) {
    if (!(error instanceof MetadataError)) throw error;
    const array = `Cannot give array ${describe(`/${path}`)} this layout`;
    // What short options stand for is not what their caller wrote.
    const at = options.metadata === undefined ? "" : error.path;
    throw new LayoutError(`${array}: ${error.problem}`, at, { cause: error });
  }
}

function changedLayout(
  metadata: ArrayMetadata,
  path: string,
  options: LayoutOptions,
): ArrayMetadata {
  const changed = changedMetadata(metadata, path, options);
  if (isSameJson(changed, metadata)) return metadata;
  const storage = storageOf(changed);
  assertSameChunks(changed, metadata);
  assertIndexPart(storage, namedCodecs(changed));
  assertPortableKeys(storage);
  // Throws if more than one part has no size.
  for (const parts of storage.layers) chunkSizes(parts);
  return changed;
}

function changedMetadata(
  metadata: ArrayMetadata,
  path: string,
  options: LayoutOptions,
): ArrayMetadata {
  if (typeof options.metadata === "function") {
    return options.metadata(metadata, path);
  }
  if (options.metadata !== undefined) return options.metadata;
  if (options.plain) return PLAIN.toShown(metadata) as ArrayMetadata;
  const { keyEncoding, suffix, parts } = options;
  let changed = metadata;
  if (keyEncoding !== undefined || suffix !== undefined) {
    const base = keyEncoding === undefined
      ? innermostEncoding(toChunkKeyEncoding(metadata.chunk_key_encoding))
      : toChunkKeyEncoding(keyEncoding);
    const encoding = suffix === undefined || suffix === ""
      ? base
      : new SuffixChunkKeyEncoding(suffix, base);
    changed = { ...changed, chunk_key_encoding: encoding.toJSON() };
  }
  if (parts !== undefined) {
    const { storage_transformers: _, ...rest } = changed;
    const { chunkShape } = storageOf(rest);
    const resolved = resolveParts(parts, namedCodecs(metadata), chunkShape);
    changed = resolved.length === 0
      ? rest
      : { ...rest, storage_transformers: [new ConcatParts(resolved).toJSON()] };
  }
  return changed;
}

/** The codecs as objects. */
export function namedCodecs({ codecs }: ArrayMetadata): NamedConfiguration[] {
  return codecs.map((codec) =>
    typeof codec === "string" ? { name: codec } : codec
  );
}

/** The members that the bytes of chunks depend on. */
const OF_CHUNKS = ["shape", "data_type", "chunk_grid", "codecs", "fill_value"];

/** Refuses metadata that says other things about the elements than that of the source. */
function assertSameChunks(changed: ArrayMetadata, metadata: ArrayMetadata) {
  for (const name of OF_CHUNKS) {
    const [before, after] = [metadata, changed].map((each) =>
      writtenOutAll((each as unknown as Record<string, unknown>)[name])
    );
    if (isSameJson(before, after)) continue;
    // A source without a fill value may be given one.
    if (name === "fill_value" && before === undefined) continue;
    throw new MetadataError(
      `Expected the ${name} of the source, since chunks are copied as they are encoded, found ${
        describe((changed as unknown as Record<string, unknown>)[name])
      }`,
      `/${name}`,
    );
  }
}

function writtenOutAll(value: unknown): unknown {
  return Array.isArray(value) ? value.map(writtenOut) : writtenOut(value);
}
