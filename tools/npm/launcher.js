#!/usr/bin/env node
// Runs the command line in the Deno that the npm package `deno` brings.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

/** Finds the program of Deno. */
function findDeno() {
  if (process.env.ZARR_PARTS_DENO) return process.env.ZARR_PARTS_DENO;
  try {
    return createRequire(import.meta.url)("deno/install_api.cjs").runInstall();
  } catch (error) {
    console.error(
      `zarr-parts: Cannot find Deno, which the npm package "deno" brings: install the package without --omit=optional, or set ZARR_PARTS_DENO to the path of deno (${error.message})`,
    );
    process.exit(1);
  }
}

const command = fileURLToPath(new URL("./command.js", import.meta.url));
const child = spawn(
  findDeno(),
  ["run", "-A", "--no-config", "--no-lock", command, ...process.argv.slice(2)],
  { stdio: "inherit" },
);
// The terminal sends Ctrl-C to both programs, and Deno ends by itself.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(`zarr-parts: Cannot start Deno: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code ?? 1);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
