import { inspectAsString } from "../stores/describe_store.ts";

/**
 * Overrides members of an object without changing it; `undefined` hides a member. All
 * other members are those of the object, private ones included.
 */
export function overlay<T extends object>(
  object: T,
  members: Readonly<Record<PropertyKey, unknown>>,
): T {
  const own = { __proto__: null, ...members } as typeof members;
  // Not the object itself, since a proxy cannot override members of a frozen target.
  const target = Object.create(Object.getPrototypeOf(object));
  if (Object.hasOwn(members, "toString")) {
    // Consoles look at the target, not at the proxy.
    Object.defineProperty(target, "toString", {
      configurable: true,
      value: members.toString,
    });
    inspectAsString(target);
  }
  return new Proxy(target, {
    get(_, property) {
      if (property in own) return own[property];
      const value = Reflect.get(object, property, object);
      return typeof value === "function" && property !== "constructor"
        ? value.bind(object)
        : value;
    },
    set: (_, property, value) =>
      !(property in own) && Reflect.set(object, property, value),
    has: (_, property) =>
      property in own ? own[property] !== undefined : property in object,
  });
}
