import { assertEquals, assertThrows } from "@std/assert";
import { UsageError } from "../../src/cli/command.ts";
import { schedulerShare } from "../../src/cli/share_option.ts";

type Variables = Record<string, string>;

function slurmArray(
  id: number,
  [first, last, step, count]: [number, number, number?, number?],
): Variables {
  return {
    SLURM_ARRAY_TASK_ID: `${id}`,
    SLURM_ARRAY_TASK_MIN: `${first}`,
    SLURM_ARRAY_TASK_MAX: `${last}`,
    ...step !== undefined && { SLURM_ARRAY_TASK_STEP: `${step}` },
    ...count !== undefined && { SLURM_ARRAY_TASK_COUNT: `${count}` },
  };
}
const slurmTask = (index: number, count: number): Variables => ({
  SLURM_PROCID: `${index}`,
  SLURM_NTASKS: `${count}`,
});
const JOB: Variables = { SLURM_JOB_ID: "17" };

/** Variables, the number of shares that is given, and the share: index and count. */
const CASES: [Variables, number | undefined, [number, number] | undefined][] = [
  [{}, undefined, undefined],
  [{}, 4, undefined],
  [slurmArray(0, [0, 15]), undefined, [0, 16]],
  [slurmArray(15, [0, 15, 1, 16]), undefined, [15, 16]],
  [slurmArray(1, [1, 16]), undefined, [0, 16]],
  [slurmArray(9, [1, 17, 4, 5]), undefined, [2, 5]],
  [slurmArray(7, [7, 7]), undefined, undefined],
  [slurmTask(0, 1), undefined, undefined],
  [slurmTask(2, 3), undefined, [2, 3]],
  [{ ...slurmArray(2, [1, 4]), ...slurmTask(2, 3) }, undefined, [5, 12]],
  [{ ...slurmArray(3, [3, 3]), ...slurmTask(2, 3) }, undefined, [2, 3]],
  // Of a step, and of the script that starts steps of three tasks.
  [{ ...slurmTask(2, 3), ...JOB, SLURM_STEP_ID: "0" }, undefined, [2, 3]],
  [{ ...slurmTask(0, 3), ...JOB }, undefined, undefined],
  [{ ...slurmArray(2, [1, 4]), ...slurmTask(0, 3), ...JOB }, undefined, [1, 4]],
  [{ JOB_COMPLETION_INDEX: "4" }, 5, [4, 5]],
  [{ JOB_COMPLETION_INDEX: "0" }, 1, undefined],
  [{ AWS_BATCH_JOB_ARRAY_INDEX: "0" }, 9, [0, 9]],
];

Deno.test("schedulerShare finds the share by the variables of schedulers", () => {
  for (const [variables, shares, expected] of CASES) {
    const given = schedulerShare((name) => variables[name], shares);
    const share = given && [given.share.index, given.share.count];
    assertEquals(share, expected, JSON.stringify(variables));
  }
});

Deno.test("the shares of a job array of tasks are exact", () => {
  const found = new Set<number>();
  for (let id = 10; id <= 30; id += 5) {
    for (let task = 0; task < 4; task++) {
      const variables = {
        ...slurmArray(id, [10, 30, 5]),
        ...slurmTask(task, 4),
      };
      const given = schedulerShare(
        (name) => (variables as Variables)[name],
        undefined,
      );
      assertEquals(given?.share.count, 20);
      found.add(given!.share.index);
    }
  }
  assertEquals([...found].sort((a, b) => a - b), [...Array(20).keys()]);
});

const MISTAKES: [Variables, number | undefined, string][] = [
  [{ SLURM_ARRAY_TASK_ID: "3" }, undefined, "SLURM_ARRAY_TASK_MIN"],
  // The tasks 1, 2 and 7.
  [slurmArray(7, [1, 7, 1, 3]), undefined, "evenly spaced"],
  [slurmArray(8, [1, 7]), undefined, "evenly spaced"],
  [slurmArray(2, [1, 7, 2]), undefined, "evenly spaced"],
  [slurmTask(3, 3), undefined, "below the number of tasks, 3, found 3"],
  [{ SLURM_PROCID: "x", SLURM_NTASKS: "3" }, undefined, 'found "x"'],
  [{ JOB_COMPLETION_INDEX: "1" }, undefined, "--shares=N"],
  [{ JOB_COMPLETION_INDEX: "5" }, 5, "below the number of tasks, 5, found 5"],
  [{ JOB_COMPLETION_INDEX: "-1" }, 5, "to be a whole number"],
];

Deno.test("schedulerShare refuses variables that do not say which share is meant", () => {
  for (const [variables, shares, message] of MISTAKES) {
    assertThrows(
      () => schedulerShare((name) => variables[name], shares),
      UsageError,
      message,
    );
  }
});
