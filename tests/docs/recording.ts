/**
 * The library, with stores that are recorded as they are constructed. Examples of
 * the documentation import this module in the place of the library.
 */
import * as library from "../../mod.ts";

export * from "../../mod.ts";

/** The stores that were constructed since the list was last emptied. */
export const recorded: (library.MemoryStore | library.FileSystemStore)[] = [];

export class MemoryStore extends library.MemoryStore {
  constructor(...args: ConstructorParameters<typeof library.MemoryStore>) {
    super(...args);
    recorded.push(this);
  }
}

export class FileSystemStore extends library.FileSystemStore {
  constructor(...args: ConstructorParameters<typeof library.FileSystemStore>) {
    super(...args);
    recorded.push(this);
  }
}
