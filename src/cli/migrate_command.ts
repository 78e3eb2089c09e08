import { migrate, type Migration } from "../jobs/mod.ts";
import type { Command, Io } from "./command.ts";
import { jsonText, someOf, unitsText } from "./format.ts";
import { withFlags } from "./error_output.ts";
import { assertSource, openWritableStore } from "./open_store.ts";

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
    await assertSource(place);
    const isDryRun = args.has("dry-run");
    const migration = await migrate(await openWritableStore(place, io), {
      overwrite: args.has("overwrite"),
      dryRun: isDryRun,
      removeV2: args.has("remove-v2"),
      fillValueAttribute: !args.has("no-fill-value-attribute"),
      keepGoing: args.has("keep-going"),
      signal: io.signal,
    });
    if (args.has("json")) io.print(jsonText(migration));
    else if (!args.has("quiet")) report(migration, { isDryRun, place }, io);
    return 0;
  },
};

function report(
  { arrays, groups, written, kept, removed, leftOut, masked, notJson }:
    Migration,
  { isDryRun, place }: { isDryRun: boolean; place: string },
  io: Io,
): void {
  const nodes = [
    ...arrays.length > 0 ? [unitsText(arrays.length, "array")] : [],
    ...groups.length > 0 ? [unitsText(groups.length, "group")] : [],
  ].join(" and ");
  const [would, were] = isDryRun ? ["would be ", "would be "] : ["", ""];
  io.print(`${nodes} of Zarr v2 ${would}migrated in ${place}`);
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
    const paths = someOf(masked.map((path) => `/${path}`));
    io.print(
      `  xarray takes the fill values of ${
        unitsText(masked.length, "array")
      } for missing elements in Zarr v2, and not in Zarr v3, ${paths}`,
    );
  }
  if (notJson.length > 0) {
    io.print(
      `  NaN or an infinity is in the attributes in ${
        someOf(notJson)
      }, as it was: some programs cannot read such documents`,
    );
  }
  for (const { path, message } of leftOut) {
    io.print(`  left as it is, /${path}: ${withFlags(message)}`);
  }
}
