import { FileSystemStore } from "../stores/file_system/file_system_store.ts";
import { HttpStore } from "../stores/http/http_store.ts";
import type { Store } from "../stores/store.ts";
import { UsageError } from "./command.ts";

/** Opens the store of a path or a URL. */
export function openStore(place: string): Store {
  if (/^https?:/i.test(place)) return new HttpStore(place);
  if (/^file:/i.test(place)) return new FileSystemStore(new URL(place));
  const scheme = /^([a-z][a-z\d+.-]+):\/\//i.exec(place)?.[1];
  if (scheme === undefined) return new FileSystemStore(place);
  throw new UsageError(
    `Cannot open ${
      JSON.stringify(place)
    }: expected a path, or a URL with http:, https: or file:`,
  );
}

/** Opens the store of a path that is written to. */
export function openWritableStore(place: string): Store {
  if (!/^https?:/i.test(place)) return openStore(place);
  throw new UsageError(
    `Cannot write to ${JSON.stringify(place)}, a web server`,
  );
}
