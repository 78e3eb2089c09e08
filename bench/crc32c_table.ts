import type { Crc32cRow, Crc32cSpeed } from "./crc32c.ts";

/** Prints what was measured, size by size, and which targets were missed. */
export function printSpeeds(rows: readonly Crc32cRow[]): void {
  console.log(
    `CRC32C of data in an ordinary Uint8Array, on Deno ${Deno.version.deno} with V8 ${Deno.version.v8}\n`,
  );
  for (const { size, speeds } of rows) {
    console.log(
      sizeText(size).padEnd(32) + "GB/s".padStart(10) + "ours is".padStart(12) +
        "target".padStart(10),
    );
    for (const speed of speeds) {
      console.log(lineOf(speed, speed === speeds[0]));
    }
    console.log();
  }
  const aimed = rows.flatMap(({ size, speeds }) =>
    speeds.filter(({ target, ratio }) => target && ratio)
      .map((speed) => ({ size, speed }))
  );
  const missed = aimed.filter(({ speed }) => !isMet(speed));
  console.log(
    `${aimed.length - missed.length} of ${aimed.length} targets met`,
  );
  for (const { size, speed } of missed) {
    console.log(
      `  missed at ${sizeText(size)}: ${
        speed.ratio!.toFixed(2)
      } x ${speed.name}, not ${speed.target} x`,
    );
  }
}

/** A number of bytes, such as `64 KiB`. */
export function sizeText(size: number): string {
  const units = ["B", "KiB", "MiB"];
  let unit = 0;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit++;
  }
  return `${Number(size.toFixed(2))} ${units[unit]}`;
}

/** Whether ours is as many times as fast as it is to be. */
export function isMet({ ratio, target }: Crc32cSpeed): boolean {
  return ratio !== undefined && target !== undefined && ratio >= target;
}

function lineOf(speed: Crc32cSpeed, isOurs: boolean): string {
  const name = `  ${speed.name}`.padEnd(32);
  const { gigabytesPerSecond, ratio, target } = speed;
  if (gigabytesPerSecond === undefined || ratio === undefined) {
    return `${name}  cannot run here: ${speed.unavailable}`;
  }
  const start = name + gigabytesPerSecond.toFixed(2).padStart(10);
  if (isOurs) return start;
  const compared = start + `${ratio.toFixed(2)} x`.padStart(12);
  if (target === undefined) return compared;
  return compared + `${target} x`.padStart(10) +
    (isMet(speed) ? "  met" : "  missed");
}
