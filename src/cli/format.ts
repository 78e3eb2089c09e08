const UNITS = ["B", "kB", "MB", "GB", "TB", "PB"];

/** Made on first use, since that takes as long as all else that `inspect` does. */
let collator: Intl.Collator | undefined;

/** Compares names so that `day2` comes before `day10`. */
export function compareNames(a: string, b: string): number {
  collator ??= new Intl.Collator("en", { numeric: true });
  return collator.compare(a, b) || (a < b ? -1 : Number(a > b));
}

/** A number of bytes, such as `1.5 MB`. */
export function bytesText(bytes: number): string {
  let unit = 0;
  let amount = bytes;
  while (amount >= 999.5 && unit < UNITS.length - 1) {
    amount /= 1000;
    unit++;
  }
  const digits = unit === 0 || amount >= 99.95 ? 0 : amount >= 9.995 ? 1 : 2;
  return `${amount.toFixed(digits)} ${UNITS[unit]}`;
}

/** A whole number with commas between thousands. */
export function countText(count: number): string {
  return String(count).replaceAll(/\B(?=(\d{3})+$)/g, ",");
}

/** A number of things, such as `1 file` or `2 files`. */
export function unitsText(count: number, unit: string): string {
  return `${countText(count)} ${unit}${count === 1 ? "" : "s"}`;
}

/** The number of names that a line has. */
const MOST_NAMED = 3;

/** The first names, and the number of the others. */
export function someOf(names: readonly string[]): string {
  const rest = names.length - MOST_NAMED;
  return [...names.slice(0, MOST_NAMED), ...rest > 0 ? [`${rest} more`] : []]
    .join(", ");
}

/** A text in quotes. */
export function quoted(text: string): string {
  return JSON.stringify(text);
}

/** Lengths along dimensions, such as `128 × 120`. */
export function shapeText(shape: readonly number[]): string {
  return shape.length === 0
    ? "no dimensions"
    : shape.map(countText).join(" × ");
}

/** A duration, such as `1:05` or `2:00:00`. */
export function timeText(seconds: number): string {
  const whole = Math.round(seconds);
  const two = (number: number) => String(number).padStart(2, "0");
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60)];
  return hours > 0
    ? `${hours}:${two(minutes % 60)}:${two(whole % 60)}`
    : `${minutes}:${two(whole % 60)}`;
}

/** JSON in which absent inner chunks are null; large whole numbers, NaN and infinities are texts. */
export function jsonText(value: unknown, indent = 2): string {
  return JSON.stringify(
    value,
    (_, each) =>
      typeof each === "bigint" ||
        typeof each === "number" && !Number.isFinite(each)
        ? String(each)
        : each,
    indent,
  );
}
