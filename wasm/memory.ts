// Where everything lies in the module's memory, in bytes. What is read in comes
// after all of it: the module itself touches nothing from INPUT on but to read.

/** The sixteen tables of 256 CRCs each. */
export const TABLES: usize = 0;

/** What the short relation works in: its state, SHORT_LIMIT bytes, and twice its reach. */
export const SHORT_SCRATCH: usize = 0x4000;

/** What the long relation works in: its state, a block, and twice its reach. */
export const LONG_SCRATCH: usize = 0xc000;

/** Where data may lie, up to the end of the memory. */
export const INPUT: usize = 0x20000;
