import { decodeLz4, encodeLz4 } from "./lz4";
import { bitShuffle, bitUnshuffle, shuffle, unshuffle } from "./shuffle";

// Blocks of LZ4 and of blosc. The caller places all bytes, from `start` on, and leaves
// SLACK bytes after each piece, up to which vectors are read and written.
export { bitShuffle, bitUnshuffle, decodeLz4, encodeLz4, shuffle, unshuffle };

export const start: usize = 0x10000;
