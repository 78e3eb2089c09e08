/**
 * An object with some members in the place of its own; `undefined` hides one. All
 * others are its own, private ones included.
 */
export function overlay<T extends object>(
  object: T,
  members: Readonly<Record<PropertyKey, unknown>>,
): T {
  return new Proxy(object, {
    get(target, property) {
      if (Object.hasOwn(members, property)) return members[property];
      const value = Reflect.get(target, property, target);
      return typeof value === "function" && property !== "constructor"
        ? value.bind(target)
        : value;
    },
    has: (target, property) =>
      Object.hasOwn(members, property)
        ? members[property] !== undefined
        : property in target,
  });
}
