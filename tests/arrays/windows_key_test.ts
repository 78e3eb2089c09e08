import { assertEquals } from "@std/assert";
import { windowsKeyProblem } from "../../src/arrays/complete_metadata.ts";

Deno.test("windowsKeyProblem finds names that Windows refuses or changes, in any segment", () => {
  const cases: [name: string, problem: string | undefined][] = [
    ...[
      ...["0", "c", "0.tiff", "a b", " a", ".a", "a..b", "ü", "a'b", "a,b"],
      ...["con1", "acon", "con_", "com", "com10", "lpt", "xnul", "nulx"],
      ...["console.txt", "a.con", "auxiliary", "conin", "com4x.y", "[a]{b}"],
    ].map((name): [string, undefined] => [name, undefined]),
    ...["con", "CON", "Con.txt", "con.a.b", "nul", "NUL .txt", "prn", "aux"]
      .map((name): [string, string] => [name, "device"]),
    ...["com0", "com9.tiff", "COM1", "lpt1", "lpt²", "COM³.x", "conin$"]
      .map((name): [string, string] => [name, "device"]),
    ...["a.", "a ", "a. ", "a .", "...a."]
      .map((name): [string, string] => [name, "which Windows removes"]),
    ...Array.from('<>:"|?*', (c): [string, string] => [`a${c}b`, "hold"]),
  ];
  for (const [name, problem] of cases) {
    for (const key of [name, `c/${name}`, `${name}/0`, `c/${name}/0.x`]) {
      const found = windowsKeyProblem(key);
      assertEquals(
        problem === undefined ? found : found?.includes(problem),
        problem === undefined ? undefined : true,
        `${key}: ${found}`,
      );
    }
  }
});
