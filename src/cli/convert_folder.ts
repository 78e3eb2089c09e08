import { dirname, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import {
  type Conversion,
  convertInPlace,
  MARKER,
  type NodeLocation,
} from "../jobs/mod.ts";
import { FileSystemStore } from "../stores/mod.ts";
import type { Arguments, Io } from "./command.ts";
import { printLayouts, printOthers } from "./draw_array.ts";
import { bytesText, countText, jsonText, ProgressLine } from "./format.ts";
import { layoutOf, withUsage } from "./layout_arguments.ts";
import { assertPath, assertSource } from "./open_store.ts";
import { concurrencyOf } from "./share_option.ts";

/** The options of `convert` that a conversion in place does not have. */
export const NOT_IN_PLACE: readonly string[] = [
  ...["container", "resume", "compare", "overwrite"],
  ...["finish", "share", "shares"],
];

/** `zarr-parts convert --in-place PATH` */
export async function convertFolder(
  args: Arguments,
  io: Io,
): Promise<number> {
  const [path] = args.operands as [string];
  const location = await locate(path);
  await assertSource(path);
  const layout = await layoutOf(args);
  const concurrency = concurrencyOf(args);
  const progress = new ProgressLine(io, args.has("quiet"));
  try {
    const conversion = await convertInPlace(location, {
      ...layout,
      ...concurrency && { concurrency },
      keepGoing: args.has("keep-going"),
      dryRun: args.has("dry-run"),
      signal: io.signal,
      onProgress: ({ done, total, bytes }) =>
        progress.update(done, total, bytes),
    });
    progress.clear();
    report(conversion, args, path, io);
    return conversion.leftOut.length > 0 ? 1 : 0;
  } catch (error) {
    progress.clear();
    await explain(location, path, io);
    throw withUsage(error);
  }
}

/** The location of a node in the store of the outermost group around it, whose consolidated metadata may describe the node. */
async function locate(path: string): Promise<NodeLocation> {
  const given = /^file:/i.test(path) ? fileURLToPath(path) : path;
  assertPath(given);
  const folder = resolve(given);
  let root = folder;
  while (await isNode(dirname(root)) && dirname(root) !== root) {
    root = dirname(root);
  }
  // The only copy of an array must outlast a loss of power.
  const options = { sync: true };
  if (root === folder) return { store: new FileSystemStore(given, options) };
  const names = relative(root, folder).replaceAll("\\", "/");
  return { store: new FileSystemStore(root, options), path: names };
}

async function isNode(folder: string): Promise<boolean> {
  for (const name of ["zarr.json", ".zgroup"]) {
    const found = await Deno.stat(`${folder}/${name}`).catch(() => undefined);
    if (found?.isFile) return true;
  }
  return false;
}

function report(
  conversion: Conversion,
  args: Arguments,
  path: string,
  io: Io,
): void {
  if (args.has("json")) return io.print(jsonText(conversion));
  if (args.has("quiet")) return;
  const { arrays, total, copied, bytes } = conversion;
  if (args.has("dry-run")) {
    printLayouts(arrays, io);
    printOthers(conversion, { isInPlace: true }, io);
    return io.print(
      `${countText(total)} chunks would be converted in place in ${path}`,
    );
  }
  io.print(
    arrays.length === 0
      ? `${path} has this layout already`
      : `${countText(copied)} chunks converted in place in ${path} (${
        bytesText(bytes)
      } written)`,
  );
  printOthers(conversion, { isInPlace: true }, io);
}

/** Says how to go on, if the conversion was left unfinished. */
async function explain(
  { store, path = "" }: NodeLocation,
  place: string,
  io: Io,
): Promise<void> {
  const root = path === "" ? "" : `/${path}` as const;
  const marker = await store.get(`${root}${MARKER}`).catch(() => undefined);
  if (marker === undefined) return;
  io.note(
    `${place} is not finished, and may not open until the same command is run again\n`,
  );
}
