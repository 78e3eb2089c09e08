/**
 * A number with its text in a document, for numbers that JavaScript would write otherwise,
 * such as `1.0` and those beyond 2^53, and for those that JSON does not have.
 */
export class JsonNumber {
  /** The text, such as `18446744073709551615`, `1.0` or `NaN`. */
  readonly rawJSON: string;

  constructor(text: string) {
    this.rawJSON = text;
  }

  toString(): string {
    return this.rawJSON;
  }
}
