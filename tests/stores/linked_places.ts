import { FileSystemStore, type StoreKey } from "../../mod.ts";
import { countingBytes } from "../support/bytes.ts";
import { inTempDir } from "./temp_dir.ts";

/** The bytes of `tiffs/a/b.tif`, other bytes, and those that may not be read. */
export const BYTES = countingBytes(9);
export const OTHER = countingBytes(9, 50);
export const SECRET = countingBytes(9, 100);

/** The folders of a test, and a store that follows links into `tiffs`. */
export interface Places {
  readonly root: string;
  /** Holds `a/b.tif`. */
  readonly tiffs: string;
  /** Holds `secret`, and may not be read. */
  readonly outside: string;
  readonly store: FileSystemStore;
  link(target: string, path: string): Promise<void>;
}

/** Runs a test in folders of its own. */
export function withPlaces(
  test: (places: Places) => Promise<void>,
): Promise<void> {
  return inTempDir(async (folder) => {
    const [root, tiffs, outside] = ["root", "tiffs", "tiffs-and-more"]
      .map((name) => `${folder}/${name}`) as [string, string, string];
    await Deno.mkdir(`${root}/c`, { recursive: true });
    await Deno.mkdir(`${tiffs}/a`, { recursive: true });
    await Deno.mkdir(outside);
    await Deno.writeFile(`${tiffs}/a/b.tif`, BYTES);
    await Deno.writeFile(`${outside}/secret`, SECRET);
    await test({
      root,
      tiffs,
      outside,
      store: new FileSystemStore(root, { followLinksInto: [tiffs] }),
      link: (target, path) => Deno.symlink(target, `${folder}/${path}`),
    });
  });
}

/** The keys of a chunk in two parts. */
export const DATA: StoreKey = "/c/0.tif";
export const SUM: StoreKey = "/c/0.tif.crc";
