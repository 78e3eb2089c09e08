import {
  type CodecEntry,
  type Codecs,
  loadCodec,
  noteKey,
} from "../../codecs/mod.ts";
import { describe, MetadataError } from "../../errors/mod.ts";
import {
  codecKind,
  isSameJson,
  type NamedConfiguration,
} from "../../metadata/mod.ts";
import { ownBytes } from "../../runtime/mod.ts";
import type { Threads } from "../../threads/mod.ts";
import { LayoutError } from "../convert/change_layout.ts";
import type { ArrayPair } from "../convert/convert_plan.ts";
import { writtenOut } from "../../hierarchy/mod.ts";
import {
  describeType,
  ElementCodecs,
  type ElementForm,
  elementForm,
  fillBytes,
  hasShards,
  undecodedError,
} from "../../blocks/mod.ts";
import { encodingOf, sourceEncodingOf } from "./recoding.ts";

/** How an array gets from one encoding to another. */
export type Way =
  | ElementsWay
  /** Chunks of the same shape get other codecs from bytes to bytes; their elements may be of any length. */
  | { readonly kind: "payload"; readonly codecs: PayloadCodecs }
  /** Chunks stay as they are encoded, in other shards. */
  | { readonly kind: "regroup"; readonly hasChecksum: boolean };

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
  { path, ...pair }: ArrayPair,
  codecs: Codecs | undefined,
): Promise<Way> {
  const [source, target] = [pair.source.metadata, pair.target.metadata];
  const [from, to] = [sourceEncodingOf(source), encodingOf(target)];
  const hasWholeShards = hasShards(from.codecs);
  const isSameShape = !hasWholeShards &&
    isSameJson(from.chunkShape, to.chunkShape);
  const [before, after] = [from, to].map(({ codecs }) =>
    codecs.map(writtenOut)
  );
  if (isSameShape && isSameJson(before, after)) {
    const hasChecksum = from.codecs.at(-1)?.name === "crc32c";
    return { kind: "regroup", hasChecksum };
  }
  const form = elementForm(source.data_type);
  if (form === undefined) {
    const payload = isSameShape &&
      await PayloadCodecs.create(from.codecs, to.codecs, path, codecs);
    if (payload) return { kind: "payload", codecs: payload };
    const what = describeType(source.data_type);
    if (hasWholeShards) {
      throw new LayoutError(
        `Cannot decode shards of elements of the data type ${what}, which have no known length, with further codecs beside "sharding_indexed"; expected "sharding_indexed" alone`,
      );
    }
    throw new LayoutError(
      `Cannot divide elements of the data type ${what} into other chunks, since they have no known length; expected other codecs or shards alone, with the same codec from array to bytes`,
    );
  }
  assertByteOrder(form, encodingOf(source).codecs, to.codecs);
  const create = ({ codecs: own, chunkShape }: typeof from) => {
    const shape = form.count > 1 ? [...chunkShape, form.count] : chunkShape;
    return ElementCodecs.create(own, form, shape, codecs, source);
  };
  const decoder = await loadSource(path, () => create(from));
  const encoder = await create(to);
  await encoder.assertEncodes(form, codecs);
  const fill = fillBytes(source, form);
  return { kind: "elements", form, fill, decoder, encoder, isSameShape };
}

/** Whether threads can do a part of the work. */
export function hasThreadedWork(way: Way): way is ElementsWay {
  return way.kind === "elements" &&
    (!way.decoder.isCheap || !way.encoder.isCheap);
}

/** Whether threads do a part of the work now. */
export function isThreaded(
  way: Way,
  threads: Threads | undefined,
): way is ElementsWay {
  return way.kind === "elements" &&
    (way.decoder.usesThreads(threads) || way.encoder.usesThreads(threads));
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

/** Replaces the codecs from bytes to bytes of chunks, whose elements nobody needs to know. */
class PayloadCodecs {
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
    noteKey(bytes, key, undefined, () => what);
    try {
      for (const codec of this.#before.toReversed()) {
        bytes = await codec.decode(bytes);
      }
    } catch (cause) {
      throw undecodedError(cause, what, key);
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
