/**
 * Describes a value of a wrong type for a message, by its kind and length, such as
 * `Uint16Array of 6 bytes`.
 */
export function describeValue(value: unknown): string {
  if (typeof value === "string") {
    return `a string of ${value.length} characters`;
  }
  if (Array.isArray(value)) return `a list of ${value.length} members`;
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) {
    return `${value.constructor.name} of ${value.byteLength} bytes`;
  }
  if (typeof value === "function") return "a function";
  if (typeof value !== "object" || value === null) return String(value);
  const name: unknown = value.constructor?.name;
  return typeof name === "string" && name !== "Object" ? name : "an object";
}
