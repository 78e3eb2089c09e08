import {
  type CodecEntry,
  type Codecs,
  loadCodec,
  noteKey,
} from "../../codecs/mod.ts";
import { DamageError, describe, MetadataError } from "../../errors/mod.ts";
import {
  codecKind,
  isSameJson,
  type NamedConfiguration,
} from "../../metadata/mod.ts";
import { ownBytes } from "../../runtime/mod.ts";
import { LayoutError } from "../convert/change_layout.ts";
import { writtenOut } from "../../hierarchy/mod.ts";

/** A codec from bytes to bytes. */
interface BytesToBytes {
  encode(bytes: Uint8Array): Uint8Array | Promise<Uint8Array>;
  decode(bytes: Uint8Array): Uint8Array | Promise<Uint8Array>;
}

/** Replaces the codecs from bytes to bytes of chunks, whose elements nobody needs to know. */
export class PayloadCodecs {
  readonly #before: readonly BytesToBytes[];
  readonly #after: readonly BytesToBytes[];

  private constructor(
    before: readonly BytesToBytes[],
    after: readonly BytesToBytes[],
  ) {
    this.#before = before;
    this.#after = after;
  }

  /**
   * Loads the codecs; returns `undefined` if other codecs differ than those from bytes to
   * bytes.
   *
   * @param path The path of the array.
   * @throws {LayoutError} If a codec of the source is unknown.
   * @throws {TypeError} If a codec of the target is unknown.
   */
  static async create(
    before: readonly NamedConfiguration[],
    after: readonly NamedConfiguration[],
    path: string,
    registry: Codecs | undefined,
  ): Promise<PayloadCodecs | undefined> {
    const [from, to] = [before, after].map((codecs) => {
      const place = codecs.findIndex(({ name }) =>
        codecKind(name) === "array_to_bytes"
      );
      return { place, codecs };
    }) as [Divided, Divided];
    const isSame = from.place >= 0 && isSameJson(
      from.codecs.slice(0, from.place + 1).map(writtenOut),
      to.codecs.slice(0, to.place + 1).map(writtenOut),
    );
    if (!isSame) return undefined;
    return new PayloadCodecs(
      await loadSource(path, () => load(from, registry)),
      await load(to, registry),
    );
  }

  /**
   * Encodes a chunk anew.
   *
   * @param what The name of the chunk in messages, at the start of a sentence.
   * @throws {DamageError} If the chunk cannot be decoded.
   */
  async recode(
    encoded: Uint8Array,
    what: string,
    key: string,
  ): Promise<Uint8Array> {
    let bytes = ownBytes(encoded);
    noteKey(bytes, key);
    try {
      for (const codec of this.#before.toReversed()) {
        bytes = await codec.decode(bytes);
      }
    } catch (cause) {
      if (cause instanceof DamageError) throw cause;
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new DamageError(`${what} cannot be decoded: ${reason}`, {
        key,
        cause,
      });
    }
    for (const codec of this.#after) bytes = await codec.encode(bytes);
    return bytes;
  }
}

/**
 * Loads the codecs of the source of an array.
 *
 * @param path The path of the array.
 * @throws {LayoutError} If a codec is unknown, or refuses its configuration.
 */
export async function loadSource<T>(
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

/** Codecs, and the place of the one from array to bytes. */
interface Divided {
  readonly place: number;
  readonly codecs: readonly NamedConfiguration[];
}

async function load(
  { place, codecs }: Divided,
  registry: Codecs | undefined,
): Promise<BytesToBytes[]> {
  const loaded: BytesToBytes[] = [];
  for (const { name, configuration } of codecs.slice(place + 1)) {
    const entry = await loadCodec(name) ??
      await registry?.get(name)?.() as CodecEntry | undefined;
    if (entry === undefined) {
      throw new TypeError(
        `Unknown codec ${
          describe(name)
        }; expected a registry that has it in the option "codecs", such as that of zarrita`,
      );
    }
    const metadata = { dataType: "string", shape: [], codecs };
    loaded.push(entry.fromConfig(configuration, metadata) as BytesToBytes);
  }
  return loaded;
}
