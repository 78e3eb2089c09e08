import type { Finding } from "../jobs/verify/finding.ts";
import { type Arguments, type CommandOption, UsageError } from "./command.ts";

/** The severities, from the least one. */
const SEVERITIES: readonly Finding["severity"][] = ["note", "warning", "error"];

/** The option that says which findings make the exit status 1. */
export const FAIL_ON_OPTION: Readonly<Record<string, CommandOption>> = {
  "fail-on": {
    type: "string",
    value: "SEVERITY",
    help:
      "the least severity with exit status 1: error, warning or note; error if not given",
  },
};

/** Returns a function that tells whether a finding makes the exit status 1. */
export function failsOn(args: Arguments): (finding: Finding) => boolean {
  const least = args.text("fail-on") ?? "error";
  const rank = SEVERITIES.indexOf(least as Finding["severity"]);
  if (rank < 0) {
    throw new UsageError(
      `Expected --fail-on=error, warning or note, found ${
        JSON.stringify(least)
      }`,
    );
  }
  return ({ severity }) => SEVERITIES.indexOf(severity) >= rank;
}
