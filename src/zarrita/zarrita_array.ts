import { parseArray, type ParsedArray } from "../arrays/mod.ts";
import { ElementCodecs, elementForm } from "../blocks/mod.ts";
import { stridesOf, TYPED_ARRAYS } from "../codecs/mod.ts";
import { describe } from "../errors/mod.ts";
import {
  isArrayDocument,
  isMembers,
  type NamedConfiguration,
} from "../metadata/mod.ts";
import { describeStore, type Store, type StoreKey } from "../stores/mod.ts";
import type { ChunkFormat, ThreadPool } from "../threads/mod.ts";
import {
  type PlainArray,
  splitPlainKey,
  type TranslatedArrays,
} from "../views/mod.ts";

/**
 * The part of zarrita's `Array` that `getSharded` and `setSharded` use.
 *
 * @example
 * ```ts
 * import { MemoryStore } from "@zarr-parts/zarr-parts";
 * import { withZarrParts, type ZarritaArray } from "@zarr-parts/zarr-parts/zarrita";
 * import * as zarr from "zarrita";
 *
 * const store = withZarrParts(new MemoryStore());
 * const array: ZarritaArray = await zarr.create(store, {
 *   shape: [4],
 *   chunkShape: [2],
 *   dtype: "uint8",
 * });
 * ```
 */
export interface ZarritaArray {
  /** The store that the array was opened from. */
  readonly store: object;
  /** The path of the array in the store. */
  readonly path: string;
  /** The shape of the array in elements. */
  readonly shape: readonly number[];
  /** The shape of a chunk, or of an innermost chunk, in elements. */
  readonly chunks: readonly number[];
  /** The data type of the elements. */
  readonly dtype: string;
  /** The value of elements in absent chunks. */
  readonly fillValue: unknown;
  /** Resolves a key relative to the array. */
  resolve(key: string): { readonly path: string };
  /** Reads the elements of a chunk. */
  getChunk(
    coordinates: number[],
    options?: { signal?: AbortSignal },
  ): Promise<{ data: unknown }>;
}

/** A decoded chunk of zarrita. Strides are in elements. */
export interface Chunk {
  readonly data: Elements;
  readonly shape: readonly number[];
  readonly stride: readonly number[];
}

/** The elements of a chunk: a typed array, one of zarrita's own that are like them, or a list of texts, which has no memory of its own. */
export interface Elements {
  readonly length: number;
  readonly buffer?: ArrayBufferLike;
  readonly byteOffset?: number;
  readonly byteLength?: number;
  readonly BYTES_PER_ELEMENT?: number;
  get?(place: number): unknown;
  readonly [place: number]: unknown;
}

/** A class of typed arrays, or zarrita's `BoolArray`. */
type ElementsClass = new (
  ...memory: [length: number] | [
    buffer: ArrayBufferLike,
    byteOffset: number,
    length: number,
  ]
) => Elements & { fill(value: unknown): void };

/** The name of the class of typed arrays for a data type; `undefined` if its elements are no numbers. */
export function classNameOf(dataType: string): string | undefined {
  if (dataType === "float16") return "Float16Array";
  return Object.hasOwn(TYPED_ARRAYS, dataType)
    ? TYPED_ARRAYS[dataType as "int8"].name
    : undefined;
}

/** The memory of elements. */
export function bytesOf(
  { buffer, byteOffset, byteLength }: Elements,
): Uint8Array {
  return new Uint8Array(buffer!, byteOffset, byteLength);
}

/** The elements of an array of zarrita, all of one length in memory. */
export interface ArrayElements {
  readonly Elements: ElementsClass;
  /** The length of an element in bytes. */
  readonly size: number;
  /** The length of a decoded chunk in bytes. */
  readonly chunkBytes: number;
  /** The element of absent chunks. */
  readonly fill: Uint8Array;
  readonly array: ParsedArray;
  /** How chunks are encoded. */
  readonly format: ChunkFormat;
  /**
   * The strides that zarrita gives selected elements: in the order in which chunks are stored.
   *
   * @param axes The dimensions of the array that `shape` has.
   */
  stridesOf(shape: readonly number[], axes: readonly number[]): number[];
}

const known = new WeakMap<object, Promise<ArrayElements | undefined>>();

/**
 * Describes the elements of an array; `undefined` if they are texts or the like, or its
 * metadata is not that of Zarr v3.
 *
 * @param BoolArray zarrita's class for booleans. Without it, booleans are not described.
 */
export function elementsOf(
  array: ZarritaArray,
  arrays: TranslatedArrays,
  BoolArray?: unknown,
): Promise<ArrayElements | undefined> {
  let elements = known.get(array);
  if (elements === undefined) {
    elements = describeElements(array, arrays, BoolArray);
    known.set(array, elements);
    elements.catch(() => known.delete(array));
  }
  return elements;
}

async function describeElements(
  array: ZarritaArray,
  arrays: TranslatedArrays,
  BoolArray: unknown,
): Promise<ArrayElements | undefined> {
  const { dtype: dataType, chunks: shape, fillValue } = array;
  const name = classNameOf(dataType);
  const Elements = dataType === "bool"
    ? BoolArray as ElementsClass | undefined
    : name && (globalThis as unknown as Record<string, ElementsClass>)[name];
  const parsed = Elements && await parsedArray(array, arrays);
  if (!parsed) return undefined;
  const codecs = parsed.innermost.codecs
    .map((codec) => inexact(codec) as NamedConfiguration);
  const element = new Elements(1);
  element.fill(fillValue);
  const fill = bytesOf(element);
  const { configuration } = codecs.find(({ name }) => name === "transpose") ??
    {};
  const order = configuration?.order;
  return {
    Elements,
    size: fill.length,
    chunkBytes: shape.reduce((product, n) => product * n, fill.length),
    fill,
    array: parsed,
    format: { dataType, elementSize: fill.length, shape, codecs },
    stridesOf: (shape, axes) =>
      stridesOf(shape, Array.isArray(order) ? among(order, axes) : order),
  };
}

const knownCodecs = new WeakMap<
  ArrayElements,
  Promise<ElementCodecs | undefined>
>();

/**
 * The codecs of elements; `undefined` if this package does not have all of them. They are no
 * member of the elements, so that bundles without `getSharded` and `setSharded` do not hold them.
 */
export function codecsOf(
  elements: ArrayElements,
): Promise<ElementCodecs | undefined> {
  const codecs = knownCodecs.get(elements) ?? loadCodecs(elements);
  knownCodecs.set(elements, codecs);
  return codecs;
}

async function loadCodecs(
  { array: { metadata }, format: { codecs, shape } }: ArrayElements,
): Promise<ElementCodecs | undefined> {
  const form = elementForm(metadata.data_type);
  if (form?.count !== 1) return undefined;
  try {
    return await ElementCodecs.create(codecs, form, shape, undefined, metadata);
  } catch {
    return undefined; // zarrita has the codecs, or its error says what is wrong.
  }
}

/** What the metadata of an array says; `undefined` if it is not that of Zarr v3. */
export async function parsedArray(
  array: Pick<ZarritaArray, "resolve">,
  arrays: TranslatedArrays,
): Promise<ParsedArray | undefined> {
  const root = rootOf(array);
  const found = await arrays.at(root);
  if (found !== undefined) return (found as PlainArray).array;
  const document = await arrays.document(root);
  return isArrayDocument(document) ? parseArray(document) : undefined;
}

/** The order of some dimensions, of which others are left out. */
function among(order: readonly number[], axes: readonly number[]): number[] {
  return order.map((axis) => axes.indexOf(axis)).filter((place) => place >= 0);
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

/** What a store of `withZarrParts` knows, also through layers above it. */
export interface ShownStore {
  /** The store that is shown. */
  readonly store: Store;
  readonly arrays: TranslatedArrays;
  /** The pool of threads that the store was given. */
  readonly pool: ThreadPool | undefined;
}

const SHOWN = Symbol("zarr-parts");

/** The member of a store of `withZarrParts` that {@linkcode shownStoreOf} finds. */
export function shownMember(shown: ShownStore): Record<symbol, ShownStore> {
  return { [SHOWN]: shown };
}

/** The store of `withZarrParts` that an array was opened from; refuses other arrays. */
export function shownStoreOf(array: ZarritaArray): ShownStore {
  const store: unknown = array?.store;
  const isOpen = typeof store === "object" && store !== null;
  const shown = isOpen && (store as Record<symbol, ShownStore>)[SHOWN];
  if (shown) return shown;
  throw new TypeError(
    `Expected an array that was opened from withZarrParts(store) as the second argument, found ${
      isOpen
        ? `the array at ${describe(array.path)} of ${describeStore(store)}`
        : describe(array)
    }`,
  );
}

/** The root of an array in its store. */
export function rootOf(array: Pick<ZarritaArray, "resolve">): string {
  // By `resolve`, since zarrita decodes percent escapes in the keys of chunks.
  return splitPlainKey(array.resolve("c").path as StoreKey)!.root;
}

/** The methods `getChunk` of arrays that no extension of others has changed. */
const ownMethods = new WeakSet<object>();

/** Notes that a method `getChunk` is that of zarrita, or of this package. */
export function noteOwnMethod(getChunk: object): void {
  ownMethods.add(getChunk);
}

/** Whether chunks of an array may be read without its method `getChunk`, since no extension of others has changed the method. */
export function hasOwnMethod({ getChunk }: { getChunk: object }): boolean {
  return ownMethods.has(getChunk);
}
