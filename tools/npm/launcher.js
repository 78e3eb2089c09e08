#!/usr/bin/env node
// Runs the command line in the Deno of the npm package `deno`: the installed one, or else the
// one that npx keeps in its cache.
import { execFileSync, spawn } from "node:child_process";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const given = process.env.ZARR_PARTS_DENO;

/** Finds the program of Deno. */
function findDeno() {
  if (given) return given;
  const require = createRequire(import.meta.url);
  const { deno } = require("../package.json").peerDependencies;
  let installer;
  try {
    installer = require("deno/install_api.cjs");
  } catch {
    return fetchDeno(`deno@${deno}`);
  }
  try {
    return installer.runInstall();
  } catch (error) {
    fail(`Cannot find the program of the npm package "deno"`, error);
  }
}

/** Lets npx fetch Deno, once, and returns the path of its program. */
function fetchDeno(name) {
  try {
    return execFileSync(
      "npx",
      ["--yes", name, "eval", "-p", "Deno.execPath()"],
      {
        encoding: "utf8",
        stdio: ["ignore", "pipe", "pipe"],
        shell: process.platform === "win32",
      },
    ).trim();
  } catch (error) {
    fail(`Cannot fetch Deno: install it by npm install ${name}`, error);
  }
}

function fail(message, error) {
  console.error(
    `zarr-parts: ${message}, or set ZARR_PARTS_DENO to the path of deno (${error.message.trim()})`,
  );
  process.exit(1);
}

const command = fileURLToPath(new URL("./command.js", import.meta.url));
const child = spawn(
  findDeno(),
  ["run", "-A", "--no-config", "--no-lock", command, ...process.argv.slice(2)],
  {
    stdio: "inherit",
    // Without asking for new versions of Deno, which users cannot choose here.
    env: { ...process.env, DENO_NO_UPDATE_CHECK: "1" },
  },
);
// The command takes two signals within half a second for one Ctrl-C, which a terminal sends
// to both programs.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  const source = given
    ? "the path in ZARR_PARTS_DENO"
    : 'the npm package "deno"';
  console.error(`zarr-parts: Cannot start Deno of ${source}: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code ?? 1);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
