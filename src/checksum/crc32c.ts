import { ChecksumError } from "../errors/mod.ts";
import { nativeZlib } from "../runtime/mod.ts";
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

/** The length in bytes from which on the module, with the copy of the data into it, is faster than the tables, as `deno task bench crc32c` shows. */
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

/** The tables of CRC32C, made on first use. */
let tables: CrcTables | undefined;

/** Returns the CRC32C of bytes that follow bytes whose CRC32C is `crc`, computed by tables. */
export function crc32cByTables(bytes: Uint8Array, crc: number): number {
  return crcByTables(tables ??= crcTables(POLYNOMIAL), bytes, crc);
}

// Polynomials modulo P, the polynomial of CRC32C. A polynomial is a number of 32
// bits whose highest bit is the coefficient of x^0, as in a CRC register.

/** P without x^32: the bits of 0x1EDC6F41 in reverse. */
export const POLYNOMIAL = 0x82f63b78;

const ONE = 0x80000000;
const X = 0x40000000;
/** The period of the powers of x, since P is x + 1 times a primitive polynomial of degree 31. */
const ORDER = 2 ** 31 - 1;

/** Returns the product of two polynomials. */
export function multiply(a: number, b: number): number {
  let product = 0;
  for (let rest = a | 0; rest !== 0; rest <<= 1) {
    if (rest < 0) product ^= b; // The highest bit of `rest` is set.
    b = (b >>> 1) ^ (b & 1 ? POLYNOMIAL : 0);
  }
  return product >>> 0;
}

/** Returns x^(8 `bytes`), by which a number of zero bytes multiplies a register. A negative number is the inverse. */
export function powerOfBytes(bytes: number): number {
  let exponent = 8 * bytes % ORDER; // A product with 8 is exact.
  if (exponent < 0) exponent += ORDER;
  let power = ONE;
  for (let square = X; exponent !== 0; exponent >>>= 1) {
    if (exponent & 1) power = multiply(power, square);
    square = multiply(square, square);
  }
  return power;
}

/** Returns the CRC32C of two sequences of bytes, one after the other, from the CRC32C of each. */
export function joinCrc32c(
  first: number,
  second: number,
  secondLength: number,
): number {
  if (first === 0) return second; // As before the first part of a chunk.
  return (multiply(first, powerOfBytes(secondLength)) ^ second) >>> 0;
}

/** x^−32. */
const BACK_4_BYTES = 0xd610d67e;

/** Returns the CRC32C of bytes without the last four. `last` is the little-endian number in the last four. */
export function withoutLastFour(crc: number, last: number): number {
  return ~(multiply(~crc, BACK_4_BYTES) ^ last) >>> 0;
}

/** The length of a stored checksum in bytes: a CRC32C, the lowest byte first. */
export const CHECKSUM_SIZE = 4;

/** Returns a copy of bytes with their checksum appended. */
export function appendChecksum(bytes: Uint8Array): Uint8Array {
  const result = new Uint8Array(bytes.length + CHECKSUM_SIZE);
  result.set(bytes);
  new DataView(result.buffer).setUint32(bytes.length, crc32c(bytes), true);
  return result;
}

/**
 * Returns a view of bytes without the checksum at their end, after verifying it.
 *
 * @param bytes At least {@linkcode CHECKSUM_SIZE} bytes.
 * @param what The name of the bytes in messages, at the start of a sentence.
 * @param key The key of the bytes.
 * @throws {ChecksumError} If the checksum is wrong.
 */
export function verifyChecksum(
  bytes: Uint8Array,
  what: () => string,
  key: string,
): Uint8Array {
  const { buffer, byteOffset } = bytes;
  const size = bytes.length - CHECKSUM_SIZE;
  const checked = new Uint8Array(buffer, byteOffset, size);
  const expected = new DataView(buffer, byteOffset).getUint32(size, true);
  const actual = crc32c(checked);
  if (actual !== expected) assertChecksum({ expected, actual }, what(), key);
  return checked;
}

/** Throws if a computed checksum is not the stored one. */
export function assertChecksum(
  { expected, actual }: { expected: number; actual: number },
  what: string,
  key: string,
): void {
  if (actual === expected) return;
  throw new ChecksumError(
    `${what} has the CRC32C ${hexadecimal(actual)}, where ${
      hexadecimal(expected)
    } is stored in its last ${CHECKSUM_SIZE} bytes`,
    { key, expected, actual },
  );
}

function hexadecimal(checksum: number): string {
  return `0x${checksum.toString(16).padStart(8, "0")}`;
}

/** Sixteen tables of 256 registers. Table k starts at index 256 k and has the register that each byte leaves when k more bytes follow. */
type CrcTables = Int32Array;

/** Makes the tables of a CRC of 32 bits by its polynomial, reflected. */
function crcTables(polynomial: number): CrcTables {
  const made = new Int32Array(16 * 256);
  for (let byte = 0; byte < 256; byte++) {
    let register = byte;
    for (let bit = 0; bit < 8; bit++) {
      register = (register >>> 1) ^ (register & 1 ? polynomial : 0);
    }
    made[byte] = register;
  }
  for (let entry = 256; entry < made.length; entry++) {
    const before = made[entry - 256]!;
    made[entry] = (before >>> 8) ^ made[before & 255]!;
  }
  return made;
}

/** Returns the CRC of bytes that follow bytes whose CRC is `crc`. Computes sixteen bytes at a time. */
function crcByTables(
  t: CrcTables,
  bytes: Uint8Array,
  crc: number,
): number {
  let register = ~crc;
  let i = 0;
  for (const end = bytes.length - 15; i < end; i += 16) {
    register = t[15 * 256 + ((register ^ bytes[i]!) & 255)]! ^
      t[14 * 256 + (((register >>> 8) ^ bytes[i + 1]!) & 255)]! ^
      t[13 * 256 + (((register >>> 16) ^ bytes[i + 2]!) & 255)]! ^
      t[12 * 256 + ((register >>> 24) ^ bytes[i + 3]!)]! ^
      t[11 * 256 + bytes[i + 4]!]! ^
      t[10 * 256 + bytes[i + 5]!]! ^
      t[9 * 256 + bytes[i + 6]!]! ^
      t[8 * 256 + bytes[i + 7]!]! ^
      t[7 * 256 + bytes[i + 8]!]! ^
      t[6 * 256 + bytes[i + 9]!]! ^
      t[5 * 256 + bytes[i + 10]!]! ^
      t[4 * 256 + bytes[i + 11]!]! ^
      t[3 * 256 + bytes[i + 12]!]! ^
      t[2 * 256 + bytes[i + 13]!]! ^
      t[256 + bytes[i + 14]!]! ^
      t[bytes[i + 15]!]!;
  }
  for (; i < bytes.length; i++) {
    register = (register >>> 8) ^ t[(register ^ bytes[i]!) & 255]!;
  }
  return ~register >>> 0;
}

/**
 * Returns the CRC-32 of bytes, which zip and gzip use. The runtime computes it if it can.
 * The CRC32C of Zarr has another polynomial.
 *
 * @param before The CRC-32 of bytes that come before these.
 */
export function crc32(bytes: Uint8Array, before = 0): number {
  return nativeZlib()?.crc32?.(bytes, before) ?? crc32ByTables(bytes, before);
}

/** The polynomial of CRC-32, reflected. */
const CRC32_POLYNOMIAL = 0xedb88320;

/** The tables of CRC-32, made on first use. */
let crc32Tables: CrcTables | undefined;

/** Returns the CRC-32 of bytes, computed by tables. */
export function crc32ByTables(bytes: Uint8Array, before = 0): number {
  return crcByTables(
    crc32Tables ??= crcTables(CRC32_POLYNOMIAL),
    bytes,
    before,
  );
}
