import type { Share } from "../arrays/mod.ts";
import {
  type Arguments,
  type Command,
  type Io,
  UsageError,
  wholeNumber,
} from "./command.ts";

/** The option for the number of chunks that are processed at once. */
export const CONCURRENCY_OPTION: Command["options"] = {
  "--concurrency <N>": "process N chunks at once; 4 by default",
};

/** The options that choose a share of the work. */
export const SHARE_ONLY_OPTIONS: Command["options"] = {
  "--share <K/N>":
    "do share K of N equal shares of the work, K from 1 to N; by default, the one that the variables of Slurm give, or all",
  "--shares <N>":
    "the number of shares, for indexed jobs of Kubernetes and array jobs of AWS Batch",
};

/** The options that choose a share of the work, and the number of chunks at once. */
export const SHARE_OPTIONS: Command["options"] = {
  ...SHARE_ONLY_OPTIONS,
  ...CONCURRENCY_OPTION,
};

/** The option of the last step, after all shares. */
export const FINISH_OPTION: Command["options"] = {
  "--finish": "check that all shares are done, and write the metadata",
};

/** The advice that follows the work on a share. */
export const ALL_SHARES =
  "When all shares are done, run the command with --finish in place of --share";

/** Returns the share of the options, or else that of the scheduler, which is printed; none with `--finish`. */
export function shareOf(args: Arguments, io: Io): Share | undefined {
  if (args.has("finish")) return undefined;
  const text = args.text("share");
  if (text === undefined) return schedulersShare(args, io);
  const [, number, count] = /^(\d+)\/(\d+)$/.exec(text) ?? [];
  const isShare = Number(number) >= 1 && Number(number) <= Number(count);
  if (!isShare) {
    throw new UsageError(
      `Expected --share=K/N with K from 1 to N, such as 3/16, found ${
        JSON.stringify(text)
      }`,
    );
  }
  // A single share is all of the work.
  return count === "1"
    ? undefined
    : { index: Number(number) - 1, count: Number(count) };
}

function schedulersShare(args: Arguments, io: Io): Share | undefined {
  const given = schedulerShare(
    (name) => Deno.env.get(name),
    wholeNumber(args, "shares", 1),
  );
  if (given === undefined) return undefined;
  const { share: { index, count }, variable } = given;
  if (!args.has("quiet")) {
    io.note(`Share ${index + 1} of ${count}, by ${variable}\n`);
  }
  return given.share;
}

/** Parses `--concurrency N`. */
export function concurrencyOf(args: Arguments): number | undefined {
  return wholeNumber(args, "concurrency", 1);
}

/** Gives the value of an environment variable. */
export type Environment = (name: string) => string | undefined;

/** A share that a scheduler has given, and the variable that says so. */
interface GivenShare {
  readonly share: Share;
  readonly variable: string;
}

/** The variables of schedulers that give the number of a task, from 0, without the number of tasks. */
const INDEXES = ["JOB_COMPLETION_INDEX", "AWS_BATCH_JOB_ARRAY_INDEX"];

/**
 * Finds the share of a task by the variables of its scheduler: job arrays and tasks of
 * Slurm, indexed jobs of Kubernetes, and array jobs of AWS Batch.
 *
 * @param shares The number of shares, for schedulers that have no variable with it.
 * @returns `undefined` if there is one task only.
 * @throws {UsageError} If the share does not follow from the variables.
 */
export function schedulerShare(
  env: Environment,
  shares: number | undefined,
): GivenShare | undefined {
  const given = slurmShare(env) ?? indexedShare(env, shares);
  return given && given.share.count > 1 ? given : undefined;
}

/** The task of a job array, and in it the task of a step. */
function slurmShare(env: Environment): GivenShare | undefined {
  const array = slurmArray(env);
  // The script of a job is no task of a step, though it has the variables of task 0.
  const isScript = env("SLURM_JOB_ID") !== undefined &&
    env("SLURM_STEP_ID") === undefined;
  if (isScript) return array;
  const [task, tasks] = [env("SLURM_PROCID"), env("SLURM_NTASKS")];
  if (task === undefined || tasks === undefined || Number(tasks) <= 1) {
    return array;
  }
  const index = whole("SLURM_PROCID", task);
  const count = whole("SLURM_NTASKS", tasks);
  assertBelow("SLURM_PROCID", index, count);
  const outer = array?.share ?? { index: 0, count: 1 };
  return {
    share: { index: outer.index * count + index, count: outer.count * count },
    variable: array ? `${array.variable} and SLURM_PROCID` : "SLURM_PROCID",
  };
}

function slurmArray(env: Environment): GivenShare | undefined {
  const variable = "SLURM_ARRAY_TASK_ID";
  const id = env(variable);
  if (id === undefined) return undefined;
  const [first, last, step, count] = ["MIN", "MAX", "STEP", "COUNT"].map(
    (name) => {
      const full = `SLURM_ARRAY_TASK_${name}`;
      const text = env(full) ?? (name === "STEP" ? "1" : undefined);
      return text === undefined ? undefined : whole(full, text);
    },
  );
  if (first === undefined || last === undefined || !step) {
    throw new UsageError(
      `Cannot tell the share of this task by ${variable}: expected SLURM_ARRAY_TASK_MIN and SLURM_ARRAY_TASK_MAX beside it, or --share=K/N`,
    );
  }
  const index = (whole(variable, id) - first) / step;
  const all = (last - first) / step + 1;
  const isRegular = Number.isInteger(index) && Number.isInteger(all) &&
    index >= 0 && index < all && (count ?? all) === all;
  if (isRegular) return { share: { index, count: all }, variable };
  throw new UsageError(
    `Cannot tell the share of task ${id} of the tasks ${first} to ${last}, by ${step}: expected a job array of evenly spaced numbers, or --share=K/N`,
  );
}

function indexedShare(
  env: Environment,
  shares: number | undefined,
): GivenShare | undefined {
  for (const variable of INDEXES) {
    const text = env(variable);
    if (text === undefined) continue;
    if (shares === undefined) {
      throw new UsageError(
        `Cannot tell the share of this task by ${variable} alone: expected --shares=N with the number of tasks, or --share=K/N`,
      );
    }
    const index = whole(variable, text);
    assertBelow(variable, index, shares);
    return { share: { index, count: shares }, variable };
  }
  return undefined;
}

function whole(variable: string, text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new UsageError(
    `Expected ${variable} to be a whole number, found ${JSON.stringify(text)}`,
  );
}

function assertBelow(variable: string, index: number, count: number): void {
  if (index < count) return;
  throw new UsageError(
    `Expected ${variable} to be below the number of tasks, ${count}, found ${index}`,
  );
}
