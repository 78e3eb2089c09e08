import type { Option } from "commander";
import { type Command, parserOf, usageError } from "./command.ts";

/** A command, and what it does in a line. */
interface Entry {
  readonly line: string;
  load(): Promise<Command>;
}

/** A command, as a shell completes it. */
interface CompletedCommand {
  readonly name: string;
  readonly line: string;
  readonly options: readonly Option[];
  /** The only operands that the command takes; all others take paths. */
  readonly operands?: readonly string[];
}

/** The values of those options that take a few words, by the names of the options. */
export const VALUES: Readonly<Record<string, readonly string[]>> = {
  container: ["tiff", "zip"],
  encoding: ["default", "v2", "fanout"],
  "fail-on": ["error", "warning", "note"],
};

/** `zarr-parts completions SHELL`, for a table of commands. */
export function completionsCommand(
  commands: Readonly<Record<string, Entry>>,
): Command {
  return {
    name: "completions",
    operands: ["SHELL"],
    summary:
      "Prints a script that lets a shell, bash, zsh or fish, complete commands, options and paths after zarr-parts. Shells read it from their folder of completions, such as ~/.config/fish/completions/zarr-parts.fish, or by: source <(zarr-parts completions bash)",
    options: {},
    examples: [
      "zarr-parts completions bash",
      "zarr-parts completions zsh",
      "zarr-parts completions fish",
    ],
    async run({ operands: [shell = ""] }, io) {
      if (!Object.hasOwn(SCRIPTS, shell)) {
        throw usageError`Expected bash, zsh or fish, found ${shell}`;
      }
      const completed = Object.entries(commands).map(
        async ([name, { line, load }]): Promise<CompletedCommand> => {
          const parser = parserOf(await load(), () => {});
          const options = parser.createHelp().visibleOptions(parser);
          const isThis = name === "completions";
          const operands = isThis ? Object.keys(SCRIPTS) : undefined;
          return { name, line, options, ...operands && { operands } };
        },
      );
      const help: CompletedCommand = {
        name: "help",
        line: "print the options of a command, with examples",
        options: [],
        operands: Object.keys(commands),
      };
      io.print(SCRIPTS[shell]!([...await Promise.all(completed), help]));
      return {};
    },
  };
}

const SCRIPTS: Readonly<
  Record<string, (commands: readonly CompletedCommand[]) => string>
> = { bash: bashScript, zsh: zshScript, fish: fishScript };

/** Completes options after a `-`, and paths where no words are known. */
function bashScript(commands: readonly CompletedCommand[]): string {
  const words = commands.flatMap(({ name, operands }) =>
    operands ? [`"${name} ${name}") known="${operands.join(" ")}" ;;`] : []
  );
  const values = Object.entries(VALUES).map(([name, values]) =>
    `*" --${name}") known="${values.join(" ")}" ;;`
  );
  const options = commands.map(({ name, options }) => {
    const names = options.map((option) => `--${option.name()}`).join(" ");
    return `"${name} -") known="${names}" ;;`;
  });
  const names = commands.map(({ name }) => name).join(" ");
  return `_zarr_parts() {
  local known= current="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}"
  if [ "$current" = = ]; then
    current=
  elif [ "$before" = = ]; then
    before="\${COMP_WORDS[COMP_CWORD-2]}"
  fi
  if [ "$COMP_CWORD" -eq 1 ]; then
    known="${names} --help --version"
  else
    case "\${COMP_WORDS[1]} $before" in
${indented([...words, ...values], 6)}
      *)
        case "\${COMP_WORDS[1]} \${current:0:1}" in
${indented(options, 10)}
        esac ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$known" -- "$current"))
}
complete -o default -F _zarr_parts zarr-parts`;
}

/** The script for bash, which zsh sources, or finds in a folder of functions as `_zarr-parts`. */
function zshScript(commands: readonly CompletedCommand[]): string {
  return `#compdef zarr-parts
(( $+functions[compdef] )) || { autoload -U compinit && compinit }
autoload -U bashcompinit && bashcompinit
${bashScript(commands)}
if [ "$funcstack[1]" = _zarr-parts ]; then
  _bash_complete -o default -F _zarr_parts
fi`;
}

function fishScript(commands: readonly CompletedCommand[]): string {
  const quote = (text: string) => `'${text.replaceAll(/[\\']/g, "\\$&")}'`;
  const first = "complete -c zarr-parts -n __fish_use_subcommand";
  return commands.flatMap(({ name, line, options, operands }) => {
    const after =
      `complete -c zarr-parts -n '__fish_seen_subcommand_from ${name}'`;
    return [
      `${first} -f -a ${name} -d ${quote(line)}`,
      ...operands ? [`${after} -f -a ${quote(operands.join(" "))}`] : [],
      ...options.map((option) => {
        const name = option.name();
        const values = VALUES[name]?.join(" ");
        const value = values ? ` -x -a ${quote(values)}` : " -r";
        const taken = option.required ? value : "";
        return `${after} -l ${name}${taken} -d ${quote(option.description)}`;
      }),
    ];
  }).concat(
    `${first} -l help -d 'print this help'`,
    `${first} -l version -d 'print the version'`,
  ).join("\n");
}

function indented(lines: readonly string[], spaces: number): string {
  return lines.map((line) => " ".repeat(spaces) + line).join("\n");
}
