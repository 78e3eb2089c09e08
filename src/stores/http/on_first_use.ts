/** What asks for sizes, and what servers need that do not support `HEAD` or ranges in full. */
export { cutWhole } from "./fallback.ts";
export { emptyRange, fetchSize } from "./size.ts";
export { rangeError } from "./unexpected_range.ts";
