import type { Codecs } from "../../codecs/mod.ts";
import { isSameJson } from "../../metadata/mod.ts";
import type { Threads } from "../../threads/mod.ts";
import { LayoutError } from "../convert/change_layout.ts";
import type { PlannedArray } from "../convert/convert_plan.ts";
import { writtenOut } from "../../hierarchy/mod.ts";
import {
  describeType,
  ElementCodecs,
  type ElementForm,
  elementForm,
  fillBytes,
  hasShards,
} from "../../blocks/mod.ts";
import { loadSource, PayloadCodecs } from "./payload_codecs.ts";
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

/** The threads of a recoding, while it runs. */
export interface ThreadsInUse {
  threads: Threads | undefined;
}

/** The settings that codecs of a {@linkcode Way} depend on. */
export interface WaySettings {
  readonly codecs?: Codecs | undefined;
  readonly use: ThreadsInUse;
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
  planned: PlannedArray,
  { codecs }: WaySettings,
): Promise<Way> {
  const { path } = planned;
  const [source, target] = [planned.source.metadata, planned.target.metadata];
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
