/**
 * A number of a document with the text that it has there, for numbers that JavaScript
 * would write otherwise: long ones, such as `1.0`, and those that JSON does not have.
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
