import { crc32cByTables } from "./crc32c_tables.ts";
import { WasmCrc32c } from "./wasm_crc32c.ts";

/**
 * Computes the CRC32C (Castagnoli, RFC 3720) of bytes. The `crc32c` codec of Zarr
 * appends it to a chunk in four bytes, the lowest first.
 *
 * @param bytes Any number of bytes.
 * @param crc The CRC32C of the bytes before, if `bytes` continue them; a whole number
 * from 0 to 2^32−1.
 * @returns The CRC32C, a whole number from 0 to 2^32−1.
 * @throws {TypeError} If `bytes` is not a `Uint8Array`.
 * @throws {RangeError} If `crc` is not a whole number from 0 to 2^32−1.
 *
 * @example In one piece and in two
 * ```ts
 * import { crc32c } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const bytes = new TextEncoder().encode("123456789");
 * assertEquals(crc32c(bytes), 0xe3069283);
 * assertEquals(crc32c(bytes.subarray(4), crc32c(bytes.subarray(0, 4))), 0xe3069283);
 * ```
 */
export function crc32c(bytes: Uint8Array, crc = 0): number {
  assertBytes(bytes);
  if (typeof crc !== "number" || crc !== crc >>> 0) {
    throw new RangeError(
      `Expected a CRC32C from 0 to 4294967295 to continue, found ${
        String(crc)
      }`,
    );
  }
  return crc32cOf(bytes, crc);
}

/**
 * Computes the CRC32C of bytes that arrive in pieces.
 *
 * @example
 * ```ts
 * import { Crc32c } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const checksum = new Crc32c();
 * for await (const piece of new Blob(["1234", "56789"]).stream()) checksum.update(piece);
 * assertEquals(checksum.digest(), 0xe3069283);
 * ```
 */
export class Crc32c {
  #crc = 0;

  /**
   * Adds bytes after those that were added before. They are not kept.
   *
   * @param bytes Any number of bytes.
   * @returns This object.
   * @throws {TypeError} If `bytes` is not a `Uint8Array`.
   *
   * @example
   * ```ts
   * import { Crc32c } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const zeros = new Uint8Array(16);
   * assertEquals(new Crc32c().update(zeros).update(zeros).digest(), 0x8a9136aa);
   * ```
   */
  update(bytes: Uint8Array): this {
    assertBytes(bytes);
    this.#crc = crc32cOf(bytes, this.#crc);
    return this;
  }

  /**
   * Returns the CRC32C of all bytes so far. More bytes may be added afterwards.
   *
   * @returns A whole number from 0 to 2^32−1; 0 if no bytes were added.
   *
   * @example
   * ```ts
   * import { Crc32c } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * assertEquals(new Crc32c().digest(), 0);
   * assertEquals(new Crc32c().update(new Uint8Array(32).fill(255)).digest(), 0x62a8ab43);
   * ```
   */
  digest(): number {
    return this.#crc;
  }

  /**
   * Starts again with no bytes.
   *
   * @returns This object.
   *
   * @example
   * ```ts
   * import { Crc32c } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * assertEquals(new Crc32c().update(new Uint8Array([1])).reset().digest(), 0);
   * ```
   */
  reset(): this {
    this.#crc = 0;
    return this;
  }
}

/** Shorter data is faster by the tables in TypeScript than by copying it into the module: `bench/crc32c_crossovers.ts`. */
const WASM_FROM = 256;

/** The module, `null` if the runtime cannot run it, or `undefined` before the first use. */
let wasm: WasmCrc32c | null | undefined;

function crc32cOf(bytes: Uint8Array, crc: number): number {
  if (bytes.length < WASM_FROM) return crc32cByTables(bytes, crc);
  if (wasm === undefined) wasm = WasmCrc32c.open() ?? null;
  return wasm === null ? crc32cByTables(bytes, crc) : wasm.crc32c(bytes, crc);
}

function assertBytes(bytes: unknown): void {
  if (bytes instanceof Uint8Array) return;
  const kind = typeof bytes === "object"
    ? bytes?.constructor?.name ?? "null"
    : typeof bytes;
  throw new TypeError(`Expected bytes as Uint8Array, found ${kind}`);
}
