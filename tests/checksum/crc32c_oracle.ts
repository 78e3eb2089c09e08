import { createCRC32 } from "hash-wasm";

/** The CRC32Cs of the beginnings of bytes, bit by bit: at place n that of the first n. */
export function prefixCrcs(bytes: Uint8Array, crc = 0): Uint32Array {
  const crcs = new Uint32Array(bytes.length + 1);
  let register = ~crc;
  crcs[0] = crc;
  for (let i = 0; i < bytes.length; i++) {
    register ^= bytes[i]!;
    for (let bit = 0; bit < 8; bit++) {
      register = register & 1 ? (register >>> 1) ^ 0x82f63b78 : register >>> 1;
    }
    crcs[i + 1] = ~register;
  }
  return crcs;
}

/** The CRC32C of bytes, bit by bit. */
export function crc32cBitByBit(bytes: Uint8Array): number {
  return prefixCrcs(bytes)[bytes.length]!;
}

const hasher = await createCRC32(0x82f63b78);

/** The CRC32C of bytes as another library has it. */
export function crc32cOfPeer(bytes: Uint8Array): number {
  return parseInt(hasher.init().update(bytes).digest(), 16);
}
