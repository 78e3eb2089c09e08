import { refuse } from "../../metadata/check.ts";

/** Checks the compression level in the configuration of a codec. */
export function checkLevel(
  level: unknown,
  name: string,
  least: number,
  most: number,
): number {
  if (
    Number.isInteger(level) && level as number >= least &&
    level as number <= most
  ) {
    return level as number;
  }
  refuse(
    `level of ${name} to be a whole number from ${least} to ${most}`,
    level,
    "/configuration/level",
  );
}
