/**
 * Returns whether two values are equal by the rules of `@std/assert`: by structure
 * and prototype, where 0 equals -0 and NaN equals NaN.
 */
export function equal(a: unknown, b: unknown): boolean {
  return compare(a, b, []);
}

type Pair = readonly [object, object];

const TypedArray = Object.getPrototypeOf(Uint8Array);

/** Classes whose instances are equal if their text is equal. */
const TEXTUAL = [RegExp, URL, URLSearchParams];

/** Compares two values inside of the pairs `above`, which allow for cyclic references. */
function compare(a: unknown, b: unknown, above: readonly Pair[]): boolean {
  if (a === b || Object.is(a, b)) return true;
  if (!isObject(a) || !isObject(b)) return false;
  if (prototypeOf(a) !== prototypeOf(b)) return false;
  if (a instanceof Date) return Object.is(+a, +(b as Date));
  if (a instanceof TypedArray) {
    return sameItems(a as Uint8Array, b as Uint8Array);
  }
  if (a instanceof ArrayBuffer || a instanceof SharedArrayBuffer) {
    return sameItems(new Uint8Array(a), new Uint8Array(b as ArrayBuffer));
  }
  if (Object.keys(a).length !== Object.keys(b).length) return false;
  if (TEXTUAL.some((type) => a instanceof type)) return String(a) === String(b);

  if (above.some((pair) => pair[0] === a && pair[1] === b)) return true;
  const same = (x: unknown, y: unknown) => compare(x, y, [...above, [a, b]]);
  if (a instanceof Set || a instanceof Map) {
    return sameEntries([...a], [...b as Iterable<unknown>], same);
  }
  // A set, since comparing properties twice takes 2^depth times as long.
  const keys = new Set([...propertiesOf(a), ...propertiesOf(b)]);
  return [...keys].every((key) =>
    key in a && key in b && same(Reflect.get(a, key), Reflect.get(b, key))
  );
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Returns whether two objects have the same prototype; none counts as `Object.prototype`. */
function prototypeOf(value: object): object {
  return Object.getPrototypeOf(value) ?? Object.prototype;
}

function sameItems(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  // Not `every`, which takes many times as long for megabytes.
  for (let i = 0; i < a.length; i++) {
    if (a[i] !== b[i] && !Object.is(a[i], b[i])) return false;
  }
  return true;
}

/** Returns whether the elements of `a` and `b` are equal in any order. */
function sameEntries(
  a: unknown[],
  b: unknown[],
  same: (x: unknown, y: unknown) => boolean,
): boolean {
  return a.length === b.length && a.every((entry) => {
    const found = b.findIndex((other) => same(entry, other));
    if (found >= 0) b.splice(found, 1);
    return found >= 0;
  });
}

/**
 * Returns the compared properties: the enumerable ones of plain objects and arrays,
 * and all, also inherited, of other objects, so that accessors are compared.
 */
function propertiesOf(value: object): PropertyKey[] {
  if (isPlain(prototypeOf(value))) return Reflect.ownKeys({ ...value });
  const keys: PropertyKey[] = [];
  for (
    let owner = value;
    owner !== null && !isPlain(owner);
    owner = Object.getPrototypeOf(owner)
  ) keys.push(...Reflect.ownKeys(owner));
  return keys;
}

function isPlain(prototype: object): boolean {
  return prototype === Object.prototype || prototype === Array.prototype;
}
