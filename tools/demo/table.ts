/** Formats rows as columns: the first two aligned left, the others, numbers, aligned right. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, i) =>
    Math.max(...rows.map((row) => row[i]!.length))
  );
  return rows.map((row) =>
    row.map((cell, i) =>
      i < 2 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!)
    ).join("  ")
  ).join("\n");
}
