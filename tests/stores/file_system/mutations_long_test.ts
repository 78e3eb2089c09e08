/** Each step of the protocol is needed: without it, some scenario goes wrong. */
import { assert } from "@std/assert";
import { withChanges } from "./file_system_code.ts";
import { MUTATIONS } from "./mutations.ts";
import { exploreLine, SCENARIOS } from "./scenarios.ts";
import { withSimulatedNames } from "./simulated_process.ts";

for (const { name, scenario, changes } of MUTATIONS) {
  Deno.test(`a scenario finds a change of the protocol: ${name}`, () =>
    withSimulatedNames(() =>
      withChanges(changes, async (code) => {
        const line = SCENARIOS.find((line) => line.name === scenario)!;
        const { states, problem } = await exploreLine(line, code);
        assert(problem !== undefined, `"${scenario}" finds nothing`);
        console.log(`${states} states: ${problem}`);
      })
    ));
}
