/** A Slurm of one node on this machine, which runs while a test does. */
import { userInfo } from "node:os";
import { freePort } from "../support/ports.ts";
import { findOnPath, type Tool } from "../support/tools.ts";
import { inTempDir } from "../stores/temp_dir.ts";

/** Programs of the Debian packages `munge` and `slurm-wlm`. */
const PROGRAMS = ["munged", "slurmctld", "slurmd", "sbatch"];

/** How many tasks run at once, more than there are processors. */
const PROCESSORS = 16;

/** Finds the programs of Slurm. */
export async function findSlurm(): Promise<Tool> {
  const found = await Promise.all(PROGRAMS.map((name) => findOnPath([name])));
  const missing = PROGRAMS.filter((_, i) => found[i] === undefined);
  if (missing.length === 0) return { path: found[0]! };
  const names = missing.join(", ");
  return {
    missing:
      `no ${names} found on PATH; install Slurm (apt-get install slurm-wlm munge)`,
  };
}

/** Runs commands of Slurm in a folder. */
export interface Slurm {
  /** The folder that jobs are submitted from, which takes their output. */
  readonly folder: string;
  /**
   * Runs a program with Slurm's configuration, and returns its standard output.
   *
   * @throws {Error} If the program fails.
   */
  run(
    program: string,
    args: readonly string[],
    env?: Record<string, string>,
  ): Promise<string>;
  /** Waits until no job runs or waits. */
  untilIdle(): Promise<void>;
}

/** Starts Slurm, runs a test, and stops Slurm with all of its jobs. */
export async function withSlurm(
  test: (slurm: Slurm) => Promise<void>,
): Promise<void> {
  await inTempDir(async (folder) => {
    await Deno.chmod(folder, 0o755); // munged demands that others can reach its socket.
    const config = await configure(folder);
    const env = { SLURM_CONF: config };
    const daemons = [
      startDaemon("munged", [
        "--foreground",
        ...[
          "key-file=key",
          "socket=munge",
          "pid-file=munged.pid",
          "seed-file=munged.seed",
          "log-file=munged.log",
        ].map((option) => `--${option.replace("=", `=${folder}/`)}`),
      ], env),
      startDaemon("slurmctld", ["-D", "-c", "-f", config], env),
      startDaemon("slurmd", ["-D", "-N", "localhost", "-f", config], env),
    ];
    const slurm: Slurm = {
      folder: `${folder}/jobs`,
      run: (program, args, more) =>
        run(program, args, `${folder}/jobs`, { ...env, ...more }),
      untilIdle: () =>
        until(
          "all jobs have ended",
          async () => await slurm.run("squeue", ["--noheader"]) === "",
        ),
    };
    try {
      await until("the node of Slurm is idle", async () => {
        const states = slurm.run("sinfo", ["--noheader", "--format=%T"]);
        return (await states.catch(() => "")).trim() === "idle";
      });
      await test(slurm);
    } finally {
      try {
        await slurm.run("scancel", ["--me"]);
        await until("no job runs", () => hasNoSteps(`${folder}/spool`));
      } finally {
        for (const daemon of daemons.reverse()) await stop(daemon);
      }
    }
  });
}

/** Writes the key and the configuration, and returns the path of the latter. */
async function configure(folder: string): Promise<string> {
  const key = crypto.getRandomValues(new Uint8Array(1024));
  await Deno.writeFile(`${folder}/key`, key, { mode: 0o600 });
  for (const name of ["jobs", "spool", "state"]) {
    await Deno.mkdir(`${folder}/${name}`);
  }
  const [first, second] = [freePort(), freePort()];
  const { username } = userInfo();
  const config = `${folder}/slurm.conf`;
  await Deno.writeTextFile(
    config,
    `ClusterName=test
     SlurmctldHost=localhost(127.0.0.1)
     SlurmctldPort=${first}
     SlurmdPort=${second}
     AuthType=auth/munge
     # A job that is requeued starts when its credential has expired.
     AuthInfo=socket=${folder}/munge,cred_expire=5
     SlurmUser=${username}
     SlurmdUser=${username}
     StateSaveLocation=${folder}/state
     SlurmdSpoolDir=${folder}/spool
     SlurmctldPidFile=${folder}/slurmctld.pid
     SlurmdPidFile=${folder}/slurmd.pid
     SlurmctldLogFile=${folder}/slurmctld.log
     SlurmdLogFile=${folder}/slurmd.log
     SlurmdParameters=config_overrides
     ProctrackType=proctrack/linuxproc
     TaskPlugin=task/none
     JobAcctGatherType=jobacct_gather/none
     AccountingStorageType=accounting_storage/none
     MpiDefault=none
     MailProg=/bin/true
     SelectType=select/cons_tres
     SelectTypeParameters=CR_Core
     SchedulerType=sched/builtin
     SchedulerParameters=sched_interval=1
     KillWait=1
     ReturnToService=2
     NodeName=localhost NodeAddr=127.0.0.1 CPUs=${PROCESSORS}
     PartitionName=test Nodes=ALL Default=YES
    `.replaceAll(/^ +/gm, ""),
  );
  return config;
}

function startDaemon(
  program: string,
  args: string[],
  env: Record<string, string>,
): Deno.ChildProcess {
  return new Deno.Command(program, {
    args,
    env,
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
}

async function stop(daemon: Deno.ChildProcess): Promise<void> {
  const kill = (signal: Deno.Signal) => {
    try {
      daemon.kill(signal);
    } catch {
      // It has ended.
    }
  };
  kill("SIGTERM");
  const timer = setTimeout(kill, 10_000, "SIGKILL");
  await daemon.status;
  clearTimeout(timer);
}

async function run(
  program: string,
  args: readonly string[],
  cwd: string,
  env: Record<string, string>,
): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(program, {
    args: [...args],
    cwd,
    env,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    signal: AbortSignal.timeout(60_000),
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  if (success) return text(stdout);
  throw new Error(`${program} ${args.join(" ")}: ${text(stderr)}`);
}

/** Whether no step of a job runs, each of which has a socket. */
async function hasNoSteps(spool: string): Promise<boolean> {
  const entries = await Array.fromAsync(Deno.readDir(spool));
  return !entries.some(({ name }) => /^localhost_\d/.test(name));
}

/** Waits until a condition holds, for two minutes at most. */
export async function until(
  what: string,
  isSo: () => Promise<boolean>,
): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    if (await isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error(`Waited for two minutes until ${what}`);
}
