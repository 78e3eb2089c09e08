import { parsedArrayOf } from "../../arrays/mod.ts";
import {
  type CodecEntry,
  type Codecs,
  loadCodec,
  noteKey,
} from "../../codecs/mod.ts";
import { verifyChecksum } from "../../checksum/mod.ts";
import { describe, MetadataError, sentence } from "../../errors/mod.ts";
import { codecKind, type NamedConfiguration } from "../../metadata/mod.ts";
import { isSameList, ownBytes } from "../../runtime/mod.ts";
import { LayoutError } from "../convert/change_layout.ts";
import { endsWithChecksum } from "../chunk_checks.ts";
import type { ArrayPair } from "../stored_chunks.ts";
import { isSameCodecs } from "../../hierarchy/mod.ts";
import {
  describeType,
  ElementCodecs,
  type ElementForm,
  elementForm,
  fillBytes,
  undecodedError,
} from "../../blocks/mod.ts";
import { encodingOf, sourceEncodingOf } from "./recoding.ts";

/** How an array gets from one encoding to another. */
export type Way = ElementsWay | BytesWay;

/** Chunks keep their shape, and their elements, which may be of any length, are not looked at. */
interface BytesWay {
  readonly kind: "bytes";
  /** Whether chunks get other codecs from bytes to bytes; `false` if they only get other shards. */
  readonly isDecoded: boolean;
  /**
   * Encodes a chunk anew.
   *
   * @param what The name of the chunk in messages, at the start of a sentence.
   * @throws {DamageError} If the chunk cannot be decoded.
   */
  recode(encoded: Uint8Array, what: string, key: string): Promise<Uint8Array>;
}

/** Elements are decoded, divided anew and encoded. */
export interface ElementsWay {
  readonly kind: "elements";
  readonly form: ElementForm;
  readonly fill: Uint8Array | undefined;
  readonly decoder: ElementCodecs;
  readonly encoder: ElementCodecs;
  /** Whether chunks keep their shape, so that each is made of one. */
  readonly isSameShape: boolean;
}

/**
 * Finds out how an array gets from one encoding to another, and loads the codecs.
 *
 * @throws {LayoutError} If the chunks of the source cannot be decoded, or their elements
 * cannot be divided into other chunks.
 * @throws {TypeError} If a codec of the target is unknown or does not encode.
 * @throws {MetadataError} If a codec of the target refuses its configuration.
 */
export async function findWay(
  { path, source, target }: ArrayPair,
  codecs: Codecs | undefined,
): Promise<Way> {
  const array = parsedArrayOf(source);
  const { metadata } = array;
  const from = sourceEncodingOf(array);
  const to = encodingOf(parsedArrayOf(target));
  const hasWholeShards = array.chunk.shard !== undefined && !from.isSharded;
  const isSameShape = !hasWholeShards &&
    isSameList(from.chunkShape, to.chunkShape);
  if (isSameShape && isSameCodecs(from.codecs, to.codecs)) {
    const hasChecksum = endsWithChecksum(from.codecs);
    return {
      kind: "bytes",
      isDecoded: false,
      recode(bytes, what, key) {
        if (hasChecksum) verifyChecksum(bytes, () => what, key);
        // A part of other memory would keep all of it.
        return Promise.resolve(ownBytes(bytes));
      },
    };
  }
  const form = elementForm(metadata.data_type);
  if (form === undefined) {
    const way = isSameShape &&
      await bytesWay(from.codecs, to.codecs, path, codecs);
    if (way) return way;
    const what = describeType(metadata.data_type);
    if (hasWholeShards) {
      throw new LayoutError(
        `Cannot decode shards of elements of the data type ${what}, which have no known length, with further codecs beside "sharding_indexed"; expected "sharding_indexed" alone`,
      );
    }
    throw new LayoutError(
      `Cannot divide elements of the data type ${what} into other chunks, since they have no known length; expected other codecs or shards alone, with the same codec from array to bytes`,
    );
  }
  assertByteOrder(form, encodingOf(array).codecs, to.codecs);
  const create = ({ codecs: own, chunkShape }: typeof from) => {
    const shape = form.count > 1 ? [...chunkShape, form.count] : chunkShape;
    return ElementCodecs.create(own, form, shape, codecs, metadata);
  };
  const decoder = await loadSource(path, () => create(from));
  const encoder = await create(to);
  await encoder.assertEncodes(form, codecs);
  const fill = fillBytes(metadata, form);
  return { kind: "elements", form, fill, decoder, encoder, isSameShape };
}

/** Refuses to change the byte order of elements that hold numbers of different lengths. */
function assertByteOrder(
  { isMixed }: ElementForm,
  before: readonly { name: string; configuration?: unknown }[],
  after: readonly { name: string; configuration?: unknown }[],
): void {
  if (!isMixed) return;
  const [one, other] = [before, after].map((codecs) => {
    const bytes = codecs.find(({ name }) => name === "bytes");
    const { endian = "little" } = (bytes?.configuration ?? {}) as {
      endian?: string;
    };
    return endian;
  });
  if (one === other) return;
  throw new LayoutError(
    `Cannot change the byte order of structures from ${one} to ${other}; expected the codec "bytes" of the source`,
  );
}

/** A codec from bytes to bytes. */
interface BytesToBytes {
  encode(bytes: Uint8Array): Uint8Array | Promise<Uint8Array>;
  decode(bytes: Uint8Array): Uint8Array | Promise<Uint8Array>;
}

/**
 * Replaces the codecs from bytes to bytes; returns `undefined` if others differ.
 *
 * @param path The path of the array.
 * @throws {LayoutError} If a codec of the source is unknown.
 * @throws {TypeError} If a codec of the target is unknown.
 */
async function bytesWay(
  from: readonly NamedConfiguration[],
  to: readonly NamedConfiguration[],
  path: string,
  registry: Codecs | undefined,
): Promise<BytesWay | undefined> {
  const start = 1 +
    from.findIndex(({ name }) => codecKind(name) === "array_to_bytes");
  const isSame = start > 0 &&
    isSameCodecs(from.slice(0, start), to.slice(0, start));
  if (!isSame) return undefined;
  const before = await loadSource(path, () => load(from, start, registry));
  const after = await load(to, start, registry);
  return {
    kind: "bytes",
    isDecoded: true,
    async recode(encoded, what, key) {
      let bytes = ownBytes(encoded);
      noteKey(bytes, key, undefined, () => what);
      try {
        for (const codec of before.toReversed()) {
          bytes = await codec.decode(bytes);
        }
      } catch (cause) {
        throw undecodedError(cause, what, key);
      }
      for (const codec of after) bytes = await codec.encode(bytes);
      return bytes;
    },
  };
}

/**
 * Loads the codecs of the source of an array.
 *
 * @param path The path of the array.
 * @throws {LayoutError} If a codec is unknown, or refuses its configuration.
 */
async function loadSource<T>(
  path: string,
  load: () => Promise<T>,
): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    const isOfArray = cause instanceof TypeError ||
      cause instanceof MetadataError ||
      cause instanceof Error && cause.name === "UnknownCodecError";
    if (!isOfArray) throw cause;
    throw new LayoutError(
      `Cannot decode array ${
        describe(`/${path}`)
      }, whose chunks would be encoded anew: ${cause.message}`,
      "",
      { cause },
    );
  }
}

/** Loads the codecs from a place on. */
async function load(
  codecs: readonly NamedConfiguration[],
  start: number,
  registry: Codecs | undefined,
): Promise<BytesToBytes[]> {
  const loaded: BytesToBytes[] = [];
  for (const { name, configuration } of codecs.slice(start)) {
    const entry = await loadCodec(name) ??
      await registry?.get(name)?.() as CodecEntry | undefined;
    if (entry === undefined) {
      throw new TypeError(
        sentence`Unknown codec ${name}; expected a registry that has it in the option "codecs", such as that of zarrita`,
      );
    }
    const metadata = { dataType: "string", shape: [], codecs };
    loaded.push(entry.fromConfig(configuration, metadata) as BytesToBytes);
  }
  return loaded;
}
