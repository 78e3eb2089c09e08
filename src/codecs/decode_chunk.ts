import { CHECKSUM_SIZE, verifyChecksum } from "../checksum/mod.ts";
import {
  DamageError,
  describe,
  MetadataError,
  sentence,
} from "../errors/mod.ts";
import type { NamedConfiguration } from "../metadata/mod.ts";
import type { CodecEntry } from "./codec.ts";
import { decodedLength, isSized } from "./decoded_length.ts";
import { type CodecRegistry, loadCodec } from "./register_codecs.ts";

/** The encoding of the chunks of an array, or of the inner chunks of a shard, in a form that can be sent to a worker. */
export interface ChunkEncoding {
  readonly codecs: readonly NamedConfiguration[];
  /** The shape of a chunk before the first codec, in elements. */
  readonly shape: readonly number[];
  /** The data type of stored elements. */
  readonly dataType: string;
  /** The length of a chunk in bytes, if all chunks have the same. */
  readonly size: number | undefined;
  /** Whether codecs may decode into the same memory again. */
  readonly reusesMemory?: boolean;
}

/**
 * Decodes a chunk to bytes of elements, in order to verify it.
 *
 * @param what The name of the chunk in messages, at the start of a sentence.
 * @param codecs Codecs besides those of this package.
 * @returns What could not be decoded, such as `codec "blosc"`; `undefined` if everything
 * was.
 * @throws {DamageError} If a codec refuses the bytes, or they have a wrong length.
 */
export async function decodeChunk(
  bytes: Uint8Array,
  level: ChunkEncoding,
  what: string,
  key: string,
  codecs?: Codecs,
): Promise<string | undefined> {
  if (level.size !== undefined && bytes.length !== level.size) {
    throw new DamageError(
      `${what} is ${bytes.length} bytes long, where its elements take ${level.size}`,
      { key },
    );
  }
  let decoded = bytes;
  for (const [i, codec] of Array.from(level.codecs.entries()).toReversed()) {
    const { name } = codec;
    if (name === "crc32c") {
      if (decoded.length < CHECKSUM_SIZE) {
        throw new DamageError(
          `${what} is ${decoded.length} bytes long, where its checksum takes ${CHECKSUM_SIZE}`,
          { key },
        );
      }
      decoded = verifyChecksum(decoded, () => what, key);
      continue;
    }
    if (name === "bytes") {
      assertLength(decoded, level, what, key);
      return await unknownAmong(level, i, codecs);
    }
    const decoder = await decoderOf(codec, level, codecs).catch((cause) => {
      if (!(cause instanceof MetadataError)) throw cause;
      // Such as chunks that are too long to be decoded.
      const reason = `${what} cannot be decoded: ${cause.message}`;
      throw new DamageError(reason, { key, cause });
    });
    if (decoder === undefined) return sentence`codec ${name}`;
    const result = await decode(decoder, decoded, what, name, key);
    // The codec from array to bytes returns elements, and no bytes.
    if (!(result instanceof Uint8Array)) {
      return await unknownAmong(level, i, codecs);
    }
    decoded = result;
  }
  return undefined;
}

async function decode(
  decoder: Decoder,
  bytes: Uint8Array,
  what: string,
  name: string,
  key: string,
): Promise<unknown> {
  try {
    return await decoder.decode(bytes);
  } catch (cause) {
    if (cause instanceof DamageError) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new DamageError(
      `${what} is not what the codec ${describe(name)} makes: ${reason}`,
      { key, cause },
    );
  }
}

/** Throws if the bytes of the elements have another length than the elements take. */
function assertLength(
  { length }: Uint8Array,
  level: ChunkEncoding,
  what: string,
  key: string,
): void {
  const { exact } = decodedLength("bytes", level);
  if (exact === undefined || length === exact) return;
  throw new DamageError(
    `${what} decodes to ${length} bytes, where its elements take ${exact}`,
    { key },
  );
}

/**
 * Returns the first unknown codec from array to array or, if there is none, the data type if
 * it is unknown, so that the number of bytes could not be checked. Known codecs from array to
 * array do not run, since they decode any elements.
 *
 * @param end The number of these codecs.
 */
async function unknownAmong(
  level: ChunkEncoding,
  end: number,
  codecs: Codecs | undefined,
): Promise<string | undefined> {
  const isBytes = level.codecs[end]!.name === "bytes";
  for (const codec of level.codecs.slice(0, end)) {
    // Without a data type, the configuration of one of these codecs is not known.
    const isKnown = isSized(codec.name) && level.dataType !== "" ||
      !isBytes && await decoderOf(codec, level, codecs) !== undefined;
    if (!isKnown) return sentence`codec ${codec.name}`;
  }
  const isChecked = !isBytes ||
    decodedLength("bytes", level).exact !== undefined;
  return isChecked ? undefined : sentence`data type ${level.dataType}`;
}

/** A registry of codecs, such as that of zarrita. */
export type Codecs = Pick<CodecRegistry, "get">;

/** The decoder of a codec. */
interface Decoder {
  decode(bytes: Uint8Array): unknown;
}

/**
 * Returns the decoder of a codec, or `undefined` if there is none. A decoder that returns no
 * bytes is the last one of a chunk.
 *
 * @param codecs Codecs besides those of this package.
 */
async function decoderOf(
  { name, configuration }: NamedConfiguration,
  { codecs: all, shape, dataType, reusesMemory = false }: ChunkEncoding,
  codecs: Codecs | undefined,
): Promise<Decoder | undefined> {
  const own = await loadCodec(name);
  try {
    const entry = own ?? await codecs?.get(name)?.() as CodecEntry | undefined;
    return entry?.fromConfig(configuration, {
      dataType,
      shape,
      codecs: all,
      reusesMemory,
      isStrict: true,
    }) as Decoder | undefined;
  } catch (error) {
    // The registry of `registerCodecs` refuses unknown codecs.
    if (own === undefined) return undefined;
    throw error;
  }
}
