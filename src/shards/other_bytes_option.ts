import { describe } from "../metadata/describe.ts";

/** Whether a write may lose bytes of a shard that belong to neither inner chunks, index nor head parts. */
export type OtherBytes = "refuse" | "replace";

/** Refuses a value of the option that is unknown. */
export function assertOtherBytes(otherBytes: OtherBytes | undefined): void {
  if ([undefined, "refuse", "replace"].includes(otherBytes)) return;
  throw new TypeError(
    `Expected otherBytes to be "refuse" or "replace", found ${
      describe(otherBytes)
    }`,
  );
}
