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
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  if (TEXTUAL.some((type) => a instanceof type)) return String(a) === String(b);

  if (above.some((pair) => pair[0] === a && pair[1] === b)) return true;
  let inside: readonly Pair[] | undefined;
  const same = (x: unknown, y: unknown) =>
    x === y || compare(x, y, inside ??= [...above, [a, b]]);
  if (a instanceof Set || a instanceof Map) {
    return sameEntries([...a], [...b as Iterable<unknown>], same);
  }
  if (isList(a, names) && isList(b, names)) {
    return a.every((item, i) => same(item, b[i])); // Fast for long lists.
  }
  const sameAt = (key: PropertyKey) =>
    key in a && key in b && same(Reflect.get(a, key), Reflect.get(b, key));
  const keys = propertiesOf(a);
  if (!keys.every(sameAt)) return false;
  // Each property once, since comparing them twice takes 2^depth times as long.
  const compared = new Set(keys);
  return propertiesOf(b).every((key) => compared.has(key) || sameAt(key));
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Returns whether two objects have the same prototype; none counts as `Object.prototype`. */
function prototypeOf(value: object): object {
  return Object.getPrototypeOf(value) ?? Object.prototype;
}

/** Returns whether a value is a list with all its items and with no other property. */
function isList(
  value: object,
  names: readonly string[],
): value is readonly unknown[] {
  return Array.isArray(value) && prototypeOf(value) === Array.prototype &&
    value.length === names.length &&
    Object.getOwnPropertySymbols(value).length === 0 &&
    value.findIndex((_, i) => !(i in value)) < 0;
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
  if (isPlain(prototypeOf(value))) {
    const isEnumerable = Object.prototype.propertyIsEnumerable;
    const symbols = Object.getOwnPropertySymbols(value);
    return [
      ...Object.keys(value),
      ...symbols.filter((key) => isEnumerable.call(value, key)),
    ];
  }
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
