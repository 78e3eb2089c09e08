import {
  isMembers,
  type Members,
  namedCodecs,
  withNumbers,
} from "../metadata/mod.ts";
import { type ChunkFormat, ownCodecs } from "../threads/mod.ts";
import type { TranslatedArrays } from "../views/mod.ts";
import { shownCodec } from "./inner_chunk_translation.ts";
import { innermostCodecs } from "./sharded_array.ts";

/** The part of zarrita's array that `get` and `set` share: an own member, under a symbol of zarrita. */
export interface Context {
  readonly kind: string;
  readonly TypedArray: ElementsClass;
  readonly fillValue: unknown;
  readonly chunkShape: readonly number[];
  readonly codec: {
    encode(chunk: Chunk): Promise<Uint8Array>;
    decode(bytes: Uint8Array): Promise<Chunk>;
  };
  getStrides(shape: readonly number[], axes?: readonly number[]): number[];
  getChunkBytes(
    coordinates: readonly number[],
    options: unknown,
  ): Promise<Uint8Array | undefined>;
}

/** The class of an array's elements: typed arrays, arrays of zarrita's own that are like them, or lists. */
type ElementsClass = new (
  ...memory: [length: number] | [
    buffer: ArrayBufferLike,
    byteOffset: number,
    length: number,
  ]
) => Elements & { fill(value: unknown): void };

/** The elements of a chunk. Lists of texts have no memory of their own. */
export interface Elements {
  readonly length: number;
  readonly buffer?: ArrayBufferLike;
  readonly byteOffset?: number;
  readonly byteLength?: number;
  readonly BYTES_PER_ELEMENT?: number;
  get?(place: number): unknown;
  readonly [place: number]: unknown;
}

/** A decoded chunk. Strides are in elements. */
export interface Chunk {
  readonly data: Elements;
  readonly shape: readonly number[];
  readonly stride: readonly number[];
}

/** The context of an array; `undefined` for an array of another version of zarrita. */
export function contextOf(array: object): Context | undefined {
  const symbol = contextSymbol(array);
  return symbol && (array as Record<symbol, Context>)[symbol];
}

/** The symbol under which an array has its context. */
export function contextSymbol(array: object): symbol | undefined {
  return Object.getOwnPropertySymbols(array)
    .find((symbol) => isContext((array as Record<symbol, unknown>)[symbol]));
}

const formats = new WeakMap<Context, Promise<ChunkFormat | undefined>>();

/**
 * How the chunks of an array are encoded; `undefined` if its elements have no fixed size,
 * its metadata is not that of Zarr v3, or threads do not have its codecs.
 *
 * @param root The root of the array in the store.
 */
export function formatOf(
  arrays: TranslatedArrays,
  root: string,
  { dtype: dataType }: { readonly dtype: string },
  context: Context,
): Promise<ChunkFormat | undefined> {
  const known = formats.get(context);
  if (known !== undefined) return known;
  const read = async () => {
    const document = await arrays.document(root);
    const { BYTES_PER_ELEMENT: elementSize } = new context.TypedArray(0);
    if (elementSize === undefined || !isMembers(document)) return undefined;
    const { codecs } = withNumbers(document) as Members;
    if (!Array.isArray(codecs)) return undefined;
    const format: ChunkFormat = {
      dataType,
      elementSize,
      shape: context.chunkShape,
      codecs: namedCodecs(
        innermostCodecs(codecs)
          .map((codec) =>
            inexact(shownCodec(codec, dataType))
          ) as typeof codecs,
      ),
    };
    const isOwn = await ownCodecs(format) !== undefined;
    return isOwn ? format : undefined;
  };
  const format = read();
  format.catch(() => formats.delete(context));
  formats.set(context, format);
  return format;
}

/** Rounds whole numbers of codecs as zarrita does, which reads none exactly beyond 2^53. */
function inexact(value: unknown): unknown {
  if (typeof value === "bigint") return Number(value);
  if (Array.isArray(value)) return value.map(inexact);
  if (!isMembers(value)) return value;
  const members = Object.entries(value);
  return Object.fromEntries(
    members.map(([name, member]) => [name, inexact(member)]),
  );
}

/** The memory of elements. */
export function bytesOf(
  { buffer, byteOffset, byteLength }: Elements,
): Uint8Array {
  return new Uint8Array(buffer!, byteOffset, byteLength);
}

/** The methods `getChunk` of arrays that only this extension has changed. */
export const ownMethods = new WeakSet<object>();

/** Whether chunks of an array may be read without its method `getChunk`, since no extension of others has changed the method. */
export function hasOwnMethod({ getChunk }: { getChunk: object }): boolean {
  return ownMethods.has(getChunk);
}

/** Whether a value is what arrays share with `get` and `set`, in the versions of zarrita that this package knows. */
function isContext(value: unknown): value is Context {
  const { kind, codec, getChunkBytes, getStrides } = (value ?? {}) as Partial<
    Context
  >;
  return kind === "regular" && typeof codec?.encode === "function" &&
    typeof codec.decode === "function" &&
    typeof getChunkBytes === "function" && typeof getStrides === "function";
}
