// The layout of the memory, in bytes. Both modules, `checksum` and `splitter`,
// have the tables and the scratch of the relations at its start.

/** The sixteen tables of 256 CRCs each. */
export const TABLES: usize = 0;

/** What the short relation works in: its state, SHORT_LIMIT bytes, and twice its reach. */
export const SHORT_SCRATCH: usize = 0x4000;

/** What the long relation works in: its state, a block, and twice its reach. */
export const LONG_SCRATCH: usize = 0xc000;

/** In the module `checksum`: data, up to the end of the memory. */
export const INPUT: usize = 0x20000;

/** In the module `splitter`: bytes that do not fill a vector of sixteen yet. */
export const PENDING: usize = 0x20000;

/** Bytes of a piece in foreign memory that are copied in to be summed up. */
export const BLOCK: usize = 0x21000;
export const BLOCK_SIZE: u32 = 0x40000;

/** The table of parts. The windows come after it. */
export const PARTS: usize = 0x61000;
