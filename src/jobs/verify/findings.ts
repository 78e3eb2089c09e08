import { describe } from "../../metadata/describe.ts";
import type { StoreKey } from "../../stores/store.ts";
import { type Finding, finding, type Rule } from "./finding.ts";
import { isInShare } from "../../arrays/share.ts";
import type { VerifyOptions } from "./verify_options.ts";

/** The greatest number of findings that are kept. */
const MOST_FINDINGS = 1000;

/** Collects findings. */
export class Findings {
  readonly #options: VerifyOptions;
  readonly #kept: Finding[] = [];
  readonly #counts: Partial<Record<Rule, number>> = {};
  readonly #undecoded = new Map<
    string,
    { key: StoreKey; unit: string; unknown: string; count: number }
  >();
  #isSound = true;

  constructor(options: VerifyOptions) {
    this.#options = options;
  }

  add(found: Finding): void {
    const { rule, severity } = found;
    this.#counts[rule] = (this.#counts[rule] ?? 0) + 1;
    if (severity === "error") this.#isSound = false;
    if (this.#kept.length < MOST_FINDINGS) this.#kept.push(found);
    this.#options.onFinding?.(found);
  }

  /**
   * Notes chunks that were not decoded.
   *
   * @param key The key of the array's document.
   * @param unit The kind of chunks.
   * @param unknown What could not be decoded.
   */
  addUndecoded(
    key: StoreKey,
    unit: string,
    unknown: string,
    count: number,
  ): void {
    const name = `${key} ${unknown}`;
    const before = this.#undecoded.get(name)?.count ?? 0;
    this.#undecoded.set(name, { key, unit, unknown, count: before + count });
  }

  /** Adds a finding for each array and each codec of it that could not be decoded. */
  finish(): void {
    for (const { key, unit, unknown, count } of this.#undecoded.values()) {
      const units = count === 1 ? `1 ${unit} was` : `${count} ${unit}s were`;
      this.add(finding(
        "chunk-undecoded",
        key,
        `${units} not decoded, since the ${unknown} in ${
          describe(key)
        } is not known here: damage of them is not noticed`,
      ));
    }
  }

  /** Adds a finding about no chunk, if its key belongs to the share. */
  addShared(found: Finding): void {
    const { share } = this.#options;
    if (share === undefined || isInShare(share, found.key)) this.add(found);
  }

  result(): {
    findings: readonly Finding[];
    counts: Readonly<Partial<Record<Rule, number>>>;
    undecoded: Readonly<Record<string, number>>;
    isSound: boolean | null;
  } {
    const undecoded: Record<string, number> = {};
    for (const { unknown, count } of this.#undecoded.values()) {
      undecoded[unknown] = (undecoded[unknown] ?? 0) + count;
    }
    return {
      findings: this.#kept,
      counts: this.#counts,
      undecoded,
      isSound: this.#isSound && this.#undecoded.size > 0 ? null : this.#isSound,
    };
  }
}
