import type { Descriptors, Inode } from "./simulated_disk.ts";
import type { World } from "./explore.ts";

/** A text that two states share only if they are equal. */
export function keyOf(world: World): string {
  const { disk, places, kills, failed, ticks } = world;
  let key = `${namesOf(disk.names)}${
    inodesOf(disk.inodes)
  }${disk.clock} ${kills} ${failed} ${ticks}`;
  for (const process of disk.processes) key += descriptorsOf(process);
  for (const { point, outcome, isLate, waits } of places) {
    key += ` ${outcome ?? point.id} ${isLate ? waits + 100 : waits}`;
  }
  return key;
}

// The pieces of a state are never changed, and are shared by many states.
const namesOf = cached((names: Readonly<Record<string, number>>) =>
  JSON.stringify(Object.entries(names).sort())
);
const inodesOf = cached((inodes: readonly (Inode | null)[]) =>
  JSON.stringify(inodes)
);
const descriptorsOf = cached((process: Descriptors) => JSON.stringify(process));

function cached<T extends object>(key: (value: T) => string) {
  const keys = new WeakMap<T, string>();
  return (value: T): string => {
    let found = keys.get(value);
    if (found === undefined) keys.set(value, found = key(value));
    return found;
  };
}

/** Returns 53 bits of a hash. Two of 10⁷ states have the same one with a probability below 1 %. */
export function hashOf(text: string): number {
  let a = 0xdeadbeef;
  let b = 0x41c6ce57;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    a = Math.imul(a ^ code, 2654435761);
    b = Math.imul(b ^ code, 1597334677);
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^
    Math.imul(b ^ (b >>> 13), 3266489909);
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^
    Math.imul(a ^ (a >>> 13), 3266489909);
  return 4294967296 * (2097151 & b) + (a >>> 0);
}
