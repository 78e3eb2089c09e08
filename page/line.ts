/// <reference lib="dom" />
const [WIDTH, HEIGHT, MARGIN] = [1024, 400, 12];

/** Draws the elements along a dimension as a line. */
export function drawLine(
  canvas: HTMLCanvasElement,
  values: ArrayLike<number>,
): void {
  Object.assign(canvas, { width: WIDTH, height: HEIGHT });
  const context = canvas.getContext("2d")!;
  const finite = Array.from(values).filter(Number.isFinite);
  if (finite.length === 0) return;
  const low = finite.reduce((a, b) => Math.min(a, b));
  const high = finite.reduce((a, b) => Math.max(a, b));
  const scale = high > low ? (HEIGHT - 2 * MARGIN) / (high - low) : 0;
  const step = (WIDTH - 2 * MARGIN) / Math.max(1, values.length - 1);
  context.strokeStyle = getComputedStyle(canvas).color;
  context.lineWidth = 2;
  context.beginPath();
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (!Number.isFinite(value)) continue;
    context.lineTo(MARGIN + i * step, HEIGHT - MARGIN - (value - low) * scale);
  }
  context.stroke();
}
