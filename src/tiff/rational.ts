/** A fraction of two whole numbers below 2^32 that is close to a number: the last such convergent of its continued fraction. */
export function rational(value: number): [number, number] {
  let [before, now] = [[0, 1], [1, 0]] as [[number, number], [number, number]];
  let rest = value;
  while (true) {
    const whole = Math.floor(rest);
    const next: [number, number] = [
      whole * now[0] + before[0],
      whole * now[1] + before[1],
    ];
    if (Math.max(...next) >= 2 ** 32) return now;
    [before, now] = [now, next];
    if (rest === whole || now[0] / now[1] === value) return now;
    rest = 1 / (rest - whole);
  }
}
