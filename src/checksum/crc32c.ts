import { crc32cByTables } from "./crc32c_tables.ts";
import { WasmCrc32c } from "./wasm_crc32c.ts";

/**
 * The CRC32C of bytes (Castagnoli, RFC 3720), as Zarr's `crc32c` codec appends it
 * in four bytes, the lowest first.
 *
 * @param bytes Any number of bytes.
 * @param crc The CRC32C of what comes before them, to continue it; a whole number
 * from 0 to 2^32−1.
 * @returns A whole number from 0 to 2^32−1.
 * @throws {TypeError} If the bytes are no `Uint8Array`.
 * @throws {RangeError} If `crc` is not such a number.
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
 * The CRC32C of bytes that come in pieces.
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
   * Takes more bytes. They are not kept.
   *
   * @param bytes Any number of bytes, which follow those before.
   * @returns This object.
   * @throws {TypeError} If the bytes are no `Uint8Array`.
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
   * Tells the checksum of all bytes so far. More may follow.
   *
   * @returns A whole number from 0 to 2^32−1; 0 of no bytes.
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
   * Forgets all bytes.
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

/** From how many bytes on the call into the module and the copy pay: `bench/crc32c.ts`. */
const WASM_FROM = 256;

/** The module, or `null` where it cannot be had; `undefined` before it was looked for. */
let wasm: WasmCrc32c | null | undefined;

function crc32cOf(bytes: Uint8Array, crc: number): number {
  if (bytes.length < WASM_FROM) return crc32cByTables(bytes, crc);
  if (wasm === undefined) wasm = WasmCrc32c.open() ?? null;
  return wasm === null ? crc32cByTables(bytes, crc) : wasm.crc32c(bytes, crc);
}

function assertBytes(bytes: unknown): void {
  if (bytes instanceof Uint8Array) return;
  throw new TypeError(
    `Expected bytes as Uint8Array, found ${
      Object.prototype.toString.call(bytes)
    }`,
  );
}
