/** What computes CRC32Cs in `bench/crc32c.ts`. */
import { crc32c as ofAws } from "@aws-crypto/crc32c";
import { createCRC32 } from "hash-wasm";
import { crc32c } from "../src/checksum/crc32c.ts";
import { engineOf } from "../src/checksum/engine.ts";

const MIB = 1024 * 1024;
const TURN = 32 * MIB;

/** One way to the CRC32C of bytes in ordinary memory. */
export interface ChecksumContestant {
  readonly name: string;
  /** How many bytes it takes in a turn, where data are not more: fewer for the slowest, so that nobody waits for it. */
  readonly bytesPerTurn: number;
  /** Why it cannot run on this machine. */
  readonly unavailable?: string;
  checksum(bytes: Uint8Array): number;
}

export const OURS = "zarr-parts";
export const NATIVE = "zarr-parts, native engine";
export const NODE_RS = "@node-rs/crc32";
export const HASH_WASM = "hash-wasm";
export const AWS = "@aws-crypto/crc32c";

/** All contestants, ours first, each used the fastest way it has. */
export async function checksumContestants(): Promise<ChecksumContestant[]> {
  const native = engineOf("native");
  // Its hexadecimal digest takes less time than its binary one.
  const hasher = await createCRC32(0x82f63b78);
  return [
    { name: OURS, bytesPerTurn: TURN, checksum: (bytes) => crc32c(bytes) },
    {
      name: NATIVE,
      bytesPerTurn: TURN,
      checksum: (bytes) => native.crc32c(bytes, 0),
    },
    await nodeRs(),
    {
      name: HASH_WASM,
      bytesPerTurn: TURN,
      checksum: (bytes) => parseInt(hasher.init().update(bytes).digest(), 16),
    },
    { name: AWS, bytesPerTurn: MIB, checksum: ofAws },
  ];
}

/** A native addon, which not every platform has. */
async function nodeRs(): Promise<ChecksumContestant> {
  const contestant = { name: NODE_RS, bytesPerTurn: TURN };
  try {
    const { crc32c } = await import("@node-rs/crc32");
    return { ...contestant, checksum: (bytes) => crc32c(bytes) };
  } catch (error) {
    const [unavailable] = String(error).split("\n");
    return { ...contestant, unavailable: unavailable!, checksum: () => NaN };
  }
}
