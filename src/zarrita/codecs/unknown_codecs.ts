import { shortened } from "../../metadata/describe.ts";
import type { ChunkMetadata } from "./codec.ts";

interface Registry {
  get(name: string): (() => unknown) | undefined;
  has?(name: string): boolean;
}

/**
 * Makes a registry answer for unknown codecs, so that arrays with them are refused
 * with the names of all of them. zarrita loads all codecs of an array at once and
 * waits for one after the other: without this, the second unknown codec is an
 * unhandled rejection, which ends the process.
 */
export function refuseUnknownCodecs(registry: Registry): void {
  if (refusing.has(registry)) return;
  refusing.add(registry);
  const get = registry.get.bind(registry);
  registry.get = (name) => get(name) ?? (() => refusal(get));
}

const refusing = new WeakSet<Registry>();

/** A codec that refuses the arrays that it is used for. */
function refusal(get: Registry["get"]): object {
  return {
    fromConfig(_configuration: unknown, { codecs = [] }: ChunkMetadata): never {
      const names = codecs
        .map(({ name }) => name)
        .filter((name) => get(name) === undefined);
      throw new UnknownCodecError([...new Set(names)]);
    },
  };
}

/** Has the name of zarrita's own error, and for one codec its message. */
class UnknownCodecError extends Error {
  override readonly name = "UnknownCodecError";

  constructor(names: readonly string[]) {
    const codecs = names.length === 1 ? "codec" : "codecs";
    super(`Unknown ${codecs}: ${shortened(names.join(", "))}`);
  }
}
