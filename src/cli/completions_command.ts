import { type Command, parserOf, UsageError } from "./command.ts";

/** A command, and what it does in a line. */
interface Entry {
  readonly line: string;
  load(): Promise<Command>;
}

/** An option or a command, as a shell completes it. */
interface Completed {
  readonly name: string;
  readonly description: string;
}

/** A command with its options. */
interface CompletedCommand extends Completed {
  readonly options: readonly (Completed & { readonly hasValue: boolean })[];
}

/** `zarr-parts completions SHELL`, for a table of commands. */
export function completionsCommand(
  commands: Readonly<Record<string, Entry>>,
): Command {
  return {
    name: "completions",
    operands: ["bash|zsh|fish"],
    summary:
      "Prints a script that lets a shell complete commands, options and paths after zarr-parts. Shells read it from their folder of completions, or by: source <(zarr-parts completions bash)",
    options: {},
    examples: ["zarr-parts completions bash", "zarr-parts completions fish"],
    async run({ operands: [shell = ""] }, io) {
      if (!Object.hasOwn(SCRIPTS, shell)) {
        throw new UsageError(
          `Expected bash, zsh or fish, found ${JSON.stringify(shell)}`,
        );
      }
      const entries = Object.entries(commands);
      const completed = await Promise.all(entries.map(complete));
      io.print(SCRIPTS[shell]!(completed));
      return 0;
    },
  };
}

async function complete(
  [name, { line, load }]: [string, Entry],
): Promise<CompletedCommand> {
  const parser = parserOf(await load(), () => {});
  const options = parser.createHelp().visibleOptions(parser)
    .map((option) => ({
      name: option.name(),
      description: option.description,
      hasValue: option.required,
    }));
  return { name, description: line, options };
}

const SCRIPTS: Readonly<
  Record<string, (commands: readonly CompletedCommand[]) => string>
> = {
  bash: bashScript,
  zsh: (commands) =>
    `autoload -U +X compinit && compinit
autoload -U +X bashcompinit && bashcompinit
${bashScript(commands)}`,
  fish: (commands) =>
    commands.flatMap(({ name, description, options }) => [
      `complete -c zarr-parts -n __fish_use_subcommand -f -a ${name} -d ${
        quoted(description)
      }`,
      ...options.map((option) =>
        `complete -c zarr-parts -n '__fish_seen_subcommand_from ${name}' -l ${option.name}${
          option.hasValue ? " -r" : ""
        } -d ${quoted(option.description)}`
      ),
    ]).join("\n"),
};

/** Completes options after a `-`, and paths everywhere else. */
function bashScript(commands: readonly CompletedCommand[]): string {
  return `_zarr_parts() {
  local known=
  if [ "$COMP_CWORD" -eq 1 ]; then
    known="${commands.map(({ name }) => name).join(" ")}"
  elif [[ "\${COMP_WORDS[COMP_CWORD]}" == -* ]]; then
    case "\${COMP_WORDS[1]}" in
${
    commands.map(({ name, options }) =>
      `      ${name}) known="${
        options.map(({ name }) => `--${name}`).join(" ")
      }" ;;`
    ).join("\n")
  }
    esac
  fi
  COMPREPLY=($(compgen -W "$known" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _zarr_parts zarr-parts`;
}

/** A text between quotes of fish. */
function quoted(text: string): string {
  return `'${text.replaceAll(/['\\]/g, "\\$&")}'`;
}
