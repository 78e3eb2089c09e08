import { migrate, type Migration } from "../jobs/mod.ts";
import type { Command } from "./command.ts";
import { withFlags } from "./error_output.ts";
import { someOf, unitsText } from "./format.ts";
import { openTarget } from "./open_store.ts";

/** `zarr-parts migrate PATH` */
export const MIGRATE: Command = {
  name: "migrate",
  operands: ["PATH"],
  summary:
    "Writes a zarr.json for each node of a Zarr v2 array or group, a folder or a URL of a bucket. Chunks are neither read nor changed.",
  options: {
    "--remove-v2":
      "remove the documents of Zarr v2 once the documents of Zarr v3 are written",
    "--no-fill-value-attribute":
      "leave arrays of xarray without the attribute _FillValue, by which xarray finds missing elements in Zarr v3",
    "--keep-going": "leave nodes that Zarr v3 cannot represent unchanged",
    "--overwrite": "replace existing zarr.json documents",
    "--dry-run": "print what would be done, and write nothing",
  },
  examples: [
    "zarr-parts migrate old.zarr --dry-run",
    "zarr-parts migrate old.zarr",
    "zarr-parts migrate s3://bucket/old.zarr --remove-v2",
  ],
  async run(args, io) {
    const [place] = args.operands as [string];
    const dryRun = args.has("dry-run");
    const migration = await migrate(await openTarget(place, io, true), {
      overwrite: args.has("overwrite"),
      dryRun,
      removeV2: args.has("remove-v2"),
      fillValueAttribute: !args.has("no-fill-value-attribute"),
      keepGoing: args.has("keep-going"),
      signal: io.signal,
    });
    const lines = linesOf(migration, place, dryRun ? "would be " : "");
    return { output: migration, lines };
  },
};

/** @param were What comes before the participle: empty, or `would be ` for a dry run. */
function linesOf(
  { arrays, groups, written, kept, removed, leftOut, masked, notJson }:
    Migration,
  place: string,
  were: string,
): string[] {
  const nodes = [
    ...arrays.length > 0 ? [unitsText(arrays.length, "array")] : [],
    ...groups.length > 0 ? [unitsText(groups.length, "group")] : [],
  ].join(" and ");
  return [
    `${nodes} of Zarr v2 ${were}migrated in ${place}`,
    `  ${unitsText(written.length, "zarr.json document")} ${were}written`,
    ...kept.length === 0 ? [] : [
      `  ${unitsText(kept.length, "node")} had a zarr.json already, and ${
        kept.length === 1 ? "keeps" : "keep"
      } it; --overwrite replaces it`,
    ],
    ...removed.length === 0 ? [] : [
      `  ${unitsText(removed.length, "document")} of Zarr v2 ${were}removed`,
    ],
    ...masked.length === 0 ? [] : [
      `  xarray takes the fill values of ${
        unitsText(masked.length, "array")
      } for missing elements in Zarr v2, and not in Zarr v3, ${
        someOf(masked.map((path) => `/${path}`))
      }`,
    ],
    ...notJson.length === 0 ? [] : [
      `  NaN or an infinity is in the attributes in ${
        someOf(notJson)
      }, as it was: some programs cannot read such documents`,
    ],
    ...leftOut.map(({ path, message }) =>
      `  left as it is, /${path}: ${withFlags(message)}`
    ),
  ];
}
