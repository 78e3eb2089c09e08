/** The modules that read streams, ask for sizes and wait for connections, and those for servers that support `HEAD` or ranges only in part. */
export { fetchStream, readPieces } from "./answer_pieces.ts";
export { fetchSize } from "./size.ts";
export { tooLong } from "./too_long.ts";
export { unusualRange } from "./unusual_range.ts";
export { waitForConnection } from "./wait_for_connection.ts";
