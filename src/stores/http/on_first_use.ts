/** What reads streams, asks for sizes, waits for connections, and what servers need that do not support `HEAD` or ranges in full. */
export { fetchStream, readPieces } from "./answer_pieces.ts";
export { fetchSize } from "./size.ts";
export { tooLong } from "./too_long.ts";
export { unusualRange } from "./unusual_range.ts";
export { waitForConnection } from "./wait_for_connection.ts";
