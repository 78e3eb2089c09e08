import * as zarr from "zarrita";

/** A chunk that cannot be read, and why. */
export interface Gap {
  readonly coordinates: readonly number[];
  readonly error: unknown;
}

/** Elements of an array, with fill values in the place of chunks that cannot be read. */
export interface ReadElements {
  readonly data: unknown;
  readonly shape: readonly number[];
  readonly gaps: readonly Gap[];
}

type PageArray = zarr.Array<zarr.DataType, zarr.FetchStore>;

/** A selection of elements along each dimension. */
export type Selection = (number | zarr.Slice | null)[];

/** An array that is read as far as it can be. */
export interface ReadableArray {
  readonly array: PageArray;
  /** Reads elements. Once the signal aborts, the result is of no use. */
  read(selection: Selection, signal: AbortSignal): Promise<ReadElements>;
}

/** A reading of elements that is under way. */
interface Reading {
  readonly signal: AbortSignal;
  readonly gaps: Gap[];
}

/** The types of elements that have pictures, apart from booleans. */
const TYPES: Readonly<
  Record<string, new (length: number) => { fill(value: never): unknown }>
> = {
  int8: Int8Array,
  int16: Int16Array,
  int32: Int32Array,
  int64: BigInt64Array,
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  uint64: BigUint64Array,
  float32: Float32Array,
  float64: Float64Array,
};

/**
 * Opens an array. zarrita ends a reading at the first chunk that fails, and gives each
 * reading the abortion of another one that reads the same index. So its readings get a
 * signal that never aborts, by which `getChunk` finds the one that does.
 */
export async function openReadable(url: string): Promise<ReadableArray> {
  const store = new zarr.FetchStore(url, {
    fetch: fetchOrExplain,
    useSuffixRequest: true, // The answer to HEAD has no text.
  });
  const array = await zarr.open.v3(store, { kind: "array" }) as PageArray;
  const readings = new WeakMap<AbortSignal, Reading>();
  const getChunk = array.getChunk.bind(array);
  array.getChunk = async (coordinates, options, ...rest) => {
    const reading = options?.signal && readings.get(options.signal);
    if (!reading) return await getChunk(coordinates, options, ...rest);
    const { signal, gaps } = reading;
    for (;;) {
      try {
        return await getChunk(coordinates, { signal }, ...rest);
      } catch (error) {
        const fill = fillChunk(array);
        if (fill === undefined) throw error;
        if (signal.aborted) return fill;
        // Another reading that has ended had asked for the same index.
        if (error instanceof DOMException && error.name === "AbortError") {
          continue;
        }
        gaps.push({ coordinates, error });
        return fill;
      }
    }
  };
  return {
    array,
    async read(selection, signal) {
      const reading: Reading = { signal, gaps: [] };
      const token = new AbortController().signal;
      readings.set(token, reading);
      const found = await zarr.get(array, selection, { signal: token });
      const { data, shape } = found as zarr.Chunk<zarr.DataType>;
      return { data, shape, gaps: reading.gaps };
    },
  };
}

/** A chunk of fill values; `undefined` for elements that have no picture. */
function fillChunk(
  { dtype, chunks, fillValue }: PageArray,
): zarr.Chunk<zarr.DataType> | undefined {
  const Elements = TYPES[dtype];
  if (Elements === undefined) return undefined;
  const data = new Elements(chunks.reduce((a, b) => a * b, 1));
  if (fillValue !== null) data.fill(fillValue as never);
  const stride = chunks.map((_, i) =>
    chunks.slice(i + 1).reduce((a, b) => a * b, 1)
  );
  return { data: data as never, shape: chunks, stride };
}

/** Fetches, and throws the text of an answer that says why there is no value. */
async function fetchOrExplain(request: Request): Promise<Response> {
  const response = await fetch(request);
  if (response.status < 400 || response.status === 404) return response;
  const text = (await response.text()).trim();
  throw new Error(text || `The server answers ${response.status}`);
}
