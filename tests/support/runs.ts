/** The share of runs, and of cases one after another, that short tests take. */
const SHARE = 1 / 10;

let share = SHARE;

/**
 * Makes {@linkcode runs} and {@linkcode stride} take all runs and cases in the tests that
 * are imported afterwards: a long test calls it, and imports the short tests.
 */
export function takeAll(): void {
  share = 1;
}

/** The number of runs of a property: of all runs, a tenth in the short tests. */
export function runs(all: number): number {
  return Math.ceil(all * share);
}

/** The step from one case of a loop to the next: 1 if all are taken, otherwise `step`. */
export function stride(step: number): number {
  return share === 1 ? 1 : step;
}
