/** Describes the machine in a few lines, without names that identify it. */
export async function describeMachine(): Promise<string[]> {
  const cpu = await cpuInfo();
  const gibibytes = Math.round(Deno.systemMemoryInfo().total / 1024 ** 3);
  const { hardwareConcurrency } = navigator;
  return [
    `${cpu.model}, ${hardwareConcurrency} cores${
      cpu.isVirtual ? " of a virtual machine" : ""
    }, ${gibibytes} GiB of memory`,
    `${Deno.build.os} ${Deno.osRelease()} on ${Deno.build.arch}`,
    `Deno ${Deno.version.deno} with V8 ${Deno.version.v8}`,
  ];
}

async function cpuInfo(): Promise<{ model: string; isVirtual: boolean }> {
  const text = await Deno.readTextFile("/proc/cpuinfo").catch(() => "");
  return {
    model: /^model name\s*: (.*)$/m.exec(text)?.[1] ?? "A CPU of unknown model",
    isVirtual: /^flags\s*:.* hypervisor( |$)/m.test(text),
  };
}
