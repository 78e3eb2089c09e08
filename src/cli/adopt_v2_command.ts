import { adoptV2, type V2Adoption } from "../jobs/mod.ts";
import { readSize, type Store, type StoreKey } from "../stores/mod.ts";
import { type Arguments, type Io, UsageError } from "./command.ts";
import { jsonText, unitsText } from "./format.ts";
import { withOptionNames } from "./messages.ts";
import {
  assertSource,
  openStore,
  openWritableStore,
  stateOf,
} from "./open_store.ts";

/** The options of `zarr-parts adopt` for arrays and groups of Zarr v2. */
const OPTIONS: readonly string[] = [
  "remove-v2",
  "fill-value-attribute",
  "keep-going",
  "overwrite",
  "dry-run",
  "json",
  "quiet",
];

const V2_NAMES = [".zarray", ".zgroup"];

/**
 * Whether the operands of `zarr-parts adopt` without `--into` are one array or group of Zarr
 * v2: a folder or a URL with a document of Zarr v2 or, for a run that is continued, with a
 * `zarr.json`.
 *
 * @throws {Error} If the place does not exist, or cannot be written.
 */
export async function isV2Place(operands: readonly string[]): Promise<boolean> {
  const [place] = operands;
  if (place === undefined || operands.length > 1) return false;
  const isUrl = /^[a-z][a-z\d+.-]+:/i.test(place);
  const info = isUrl ? undefined : await stateOf(place);
  const isFile = info?.isFile && !/[/\\](?:zarr\.json|\.z[a-z]+)$/.test(place);
  if (isFile) return false;
  await assertSource(place);
  return await hasDocument(await openWritableStore(place), [
    ...V2_NAMES,
    "zarr.json",
  ]);
}

/** Refuses an array or a group of Zarr v2 with `--into`. */
export async function assertNoV2Place(
  operands: readonly string[],
): Promise<void> {
  const [place] = operands;
  if (place === undefined || operands.length > 1) return;
  const isFolder = (await stateOf(place))?.isDirectory;
  if (!isFolder || !await hasDocument(await openStore(place), V2_NAMES)) return;
  throw new UsageError(
    `Expected no --into for ${
      JSON.stringify(place)
    }, an array or a group of Zarr v2, which is adopted where it is`,
  );
}

async function hasDocument(
  store: Store,
  names: readonly string[],
): Promise<boolean> {
  for (const name of names) {
    const key: StoreKey = `/${name}`;
    if (await readSize(store, key) !== undefined) return true;
  }
  return false;
}

/**
 * `zarr-parts adopt` of an array or a group of Zarr v2.
 *
 * @param known The names of all options of the command.
 */
export async function adoptV2Place(
  args: Arguments,
  known: readonly string[],
  io: Io,
): Promise<number> {
  const other = known.find((name) => args.has(name) && !OPTIONS.includes(name));
  const [place] = args.operands as [string];
  if (other !== undefined) {
    throw new UsageError(
      `--${other} is for TIFF and zip files, and ${
        JSON.stringify(place)
      } is a Zarr array or group`,
    );
  }
  const adoption = await adoptV2(await openWritableStore(place), {
    overwrite: args.has("overwrite"),
    dryRun: args.has("dry-run"),
    removeV2: args.has("remove-v2"),
    fillValueAttribute: args.has("fill-value-attribute"),
    keepGoing: args.has("keep-going"),
    signal: io.signal,
  });
  if (args.has("json")) io.print(jsonText(adoption));
  else if (!args.has("quiet")) {
    report(adoption, { isDryRun: args.has("dry-run"), place }, io);
  }
  return 0;
}

/** The most documents that are named. */
const MOST_NAMED = 3;

function report(
  { arrays, groups, written, kept, removed, leftOut, masked, notJson }:
    V2Adoption,
  { isDryRun, place }: { isDryRun: boolean; place: string },
  io: Io,
): void {
  const nodes = [
    ...arrays.length > 0 ? [unitsText(arrays.length, "array")] : [],
    ...groups.length > 0 ? [unitsText(groups.length, "group")] : [],
  ].join(" and ");
  const [would, were] = isDryRun ? ["would be ", "would be "] : ["", ""];
  io.print(`${nodes} of Zarr v2 ${would}adopted in ${place}`);
  io.print(
    `  ${unitsText(written.length, "zarr.json document")} ${were}written`,
  );
  if (kept.length > 0) {
    io.print(
      `  ${unitsText(kept.length, "node")} had a zarr.json already, and ${
        kept.length === 1 ? "keeps" : "keep"
      } it; --overwrite replaces it`,
    );
  }
  if (removed.length > 0) {
    io.print(
      `  ${unitsText(removed.length, "document")} of Zarr v2 ${were}removed`,
    );
  }
  if (masked.length > 0) {
    const paths = named(masked.map((path) => `/${path}`));
    const advice = removed.length > 0 && !isDryRun
      ? "give them the attribute _FillValue by another program, since the documents of Zarr v2, from which --fill-value-attribute takes it, are removed"
      : "--fill-value-attribute gives them the attribute _FillValue, with --overwrite where they have a zarr.json";
    io.print(
      `  xarray takes the fill values of ${
        unitsText(masked.length, "array")
      } for missing elements in Zarr v2, and not in Zarr v3, ${paths}; ${advice}`,
    );
  }
  if (notJson.length > 0) {
    io.print(
      `  NaN or an infinity is in the attributes in ${
        named(notJson)
      }, as it was: some programs cannot read such documents`,
    );
  }
  for (const { path, message } of leftOut) {
    io.print(`  left as it is, /${path}: ${withOptionNames(message)}`);
  }
}

function named(keys: readonly string[]): string {
  const rest = keys.length - MOST_NAMED;
  return [...keys.slice(0, MOST_NAMED), ...rest > 0 ? [`${rest} more`] : []]
    .join(", ");
}
