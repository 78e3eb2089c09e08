import type { ZipDescription } from "../zip/mod.ts";
import type { AdoptionReport } from "../adopt/mod.ts";
import type {
  Conversion,
  Inspection,
  Migration,
  Repair,
  Verification,
} from "../jobs/mod.ts";
import type { ArrayMetadata } from "../metadata/mod.ts";
import type { Recovery } from "../stores/mod.ts";

/**
 * The types of the JSON that commands print with `--json`, by the names of the commands.
 * `error` is the type of the JSON that a failing command prints on standard error.
 * `deno task build` writes the JSON Schemas of these types into `docs/schemas/`.
 */
export interface Outputs {
  readonly inspect: InspectOutput;
  readonly convert: Conversion;
  readonly adopt: AdoptOutput | AdoptLevelsOutput;
  readonly verify: Verification;
  readonly migrate: Migration;
  readonly repair: RepairOutput;
  readonly split: PartsOutput;
  readonly join: PartsOutput;
  readonly serve: ServeOutput;
  readonly references: ReferencesOutput;
  readonly error: ErrorOutput;
}

/** The nodes that were inspected. */
export interface InspectOutput extends Inspection {
  /** The zip archive that holds the nodes. */
  readonly archive?: ZipDescription;
}

/** An array of adopted files. */
export interface AdoptOutput extends AdoptionReport {
  /** The metadata of the array. */
  readonly metadata: ArrayMetadata;
}

/** A group of adopted files with several levels. */
export interface AdoptLevelsOutput {
  /** The arrays, the largest one first. */
  readonly levels: readonly AdoptOutput[];
  /** The attributes of the group. */
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Notes on unusual properties. */
  readonly notes: readonly string[];
}

/** The findings that `repair` has mended, or would mend in a dry run. */
export interface RepairOutput extends Repair {
  /** The writes of killed programs that were finished, and the files that they had left. */
  readonly recovery: Recovery;
}

/** The file that was split, or that parts were joined to. */
export interface PartsOutput {
  /** The length of the whole file in bytes. */
  readonly size: number;
  readonly parts: readonly {
    readonly path: string;
    /** The length in bytes. */
    readonly size: number;
  }[];
}

/** A server that listens. */
export interface ServeOutput {
  /** The URL of the store. */
  readonly url: string;
}

/** The references that were written. */
export interface ReferencesOutput {
  /** The number of references to chunks. */
  readonly references: number;
  /** The prefix that makes a URL of each key of the store. */
  readonly urlPrefix: string;
}

/** An error that ended a command. Errors of some classes have further members, such as `key`. */
export interface ErrorOutput {
  readonly error: {
    /** The name of the class, such as `UsageError`. */
    readonly name: string;
    readonly message: string;
    readonly [member: string]: unknown;
  };
  /** The exit status. */
  readonly status: number;
}
