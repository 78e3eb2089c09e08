import type { Finding, Rule } from "./finding.ts";
import { isInShare } from "../../arrays/share.ts";
import type { VerifyOptions } from "./verify_options.ts";

/** The greatest number of findings that are kept. */
const MOST_FINDINGS = 1000;

/** Collects findings. */
export class Findings {
  readonly #options: VerifyOptions;
  readonly #kept: Finding[] = [];
  readonly #counts: Partial<Record<Rule, number>> = {};
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

  /** Adds a finding about no chunk, if its key belongs to the share. */
  addShared(found: Finding): void {
    const { share } = this.#options;
    if (share === undefined || isInShare(share, found.key)) this.add(found);
  }

  result(): {
    findings: readonly Finding[];
    counts: Readonly<Partial<Record<Rule, number>>>;
    isSound: boolean;
  } {
    return {
      findings: this.#kept,
      counts: this.#counts,
      isSound: this.#isSound,
    };
  }
}
