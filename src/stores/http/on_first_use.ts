/**
 * What reads chunks of several objects and versions, what asks for sizes, and what
 * servers need that do not support `HEAD` or ranges in full, or answer with other bytes.
 */
export { cutWhole } from "./fallback.ts";
export { readGroup } from "./group.ts";
export { emptyRange, fetchSize } from "./size.ts";
export { unexpectedLength, unexpectedRange } from "./unexpected_range.ts";
export { fetchRangeOf } from "./version.ts";
