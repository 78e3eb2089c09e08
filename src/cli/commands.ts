import type { Command } from "./command.ts";

/** The commands by name, with what each does in a line. */
export const COMMANDS: Readonly<
  Record<string, { line: string; load(): Promise<Command> }>
> = {
  inspect: {
    line: "show how arrays and groups are laid out",
    load: async () => (await import("./inspect_command.ts")).INSPECT,
  },
  convert: {
    line: "copy arrays and groups to other chunk keys and parts",
    load: async () => (await import("./convert_command.ts")).CONVERT,
  },
  adopt: {
    line: "make an array of TIFF or zip files, which stay as they are",
    load: async () => (await import("./adopt_command.ts")).ADOPT,
  },
  migrate: {
    line: "write documents of Zarr v3 for arrays and groups of Zarr v2",
    load: async () => (await import("./migrate_command.ts")).MIGRATE,
  },
  verify: {
    line: "find damage and leftovers in arrays and groups",
    load: async () => (await import("./verify_command.ts")).VERIFY,
  },
  repair: {
    line: "finish interrupted writes, and remove what they have left",
    load: async () => (await import("./repair_command.ts")).REPAIR,
  },
  split: {
    line: "split a single file into parts",
    load: async () => (await import("./split_join_commands.ts")).SPLIT,
  },
  join: {
    line: "join parts to a single file",
    load: async () => (await import("./split_join_commands.ts")).JOIN,
  },
  serve: {
    line: "serve arrays to all Zarr programs over HTTP",
    load: async () => (await import("./serve_command.ts")).SERVE,
  },
  references: {
    line: "write references by which Python and GDAL read arrays",
    load: async () => (await import("./references_command.ts")).REFERENCES,
  },
  completions: {
    line: "print a script that lets a shell complete arguments",
    load: async () =>
      (await import("./completions_command.ts")).completionsCommand(COMMANDS),
  },
};
