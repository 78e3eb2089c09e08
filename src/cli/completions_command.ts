import { type Command, parserOf, usageError } from "./command.ts";

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
  /** The only operands that the command takes; all others take paths. */
  readonly operands: readonly string[] | undefined;
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
      const entries = Object.entries(commands);
      const completed = await Promise.all(entries.map(complete));
      const help = {
        name: "help",
        description: "print the options of a command, with examples",
        options: [],
        operands: Object.keys(commands),
      };
      io.print(SCRIPTS[shell]!([...completed, help]));
      return {};
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
  const operands = name === "completions" ? Object.keys(SCRIPTS) : undefined;
  return { name, description: line, options, operands };
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
  const options = commands.map(({ name, options }) =>
    `"${name} -") known="${
      options.map(({ name }) => `--${name}`).join(" ")
    }" ;;`
  );
  return `_zarr_parts() {
  local known= current="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}"
  if [ "$current" = = ]; then
    current=
  elif [ "$before" = = ]; then
    before="\${COMP_WORDS[COMP_CWORD-2]}"
  fi
  if [ "$COMP_CWORD" -eq 1 ]; then
    known="${namesOf(commands)} --help --version"
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

/** A script that zsh sources, or finds in a folder of functions as `_zarr-parts`. */
function zshScript(commands: readonly CompletedCommand[]): string {
  const escaped = (text: string) => text.replaceAll(/[\\:[\]]/g, "\\$&");
  const described = commands.map(({ name, description }) =>
    quoted(`${name}:${escaped(description)}`, "'\\''")
  );
  const branches = commands.map(({ name, options, operands }) => {
    const specs = options.map(({ name, description, hasValue }) => {
      const values = VALUES[name] ? `(${VALUES[name].join(" ")})` : "_files";
      return `*--${name}${hasValue ? "=" : ""}[${escaped(description)}]${
        hasValue ? `:${name}:${values}` : ""
      }`;
    });
    const rest = operands ? `1:word:(${operands.join(" ")})` : "*:file:_files";
    const quotedSpecs = [...specs, rest].map((spec) => quoted(spec, "'\\''"));
    return `${name}) _arguments ${quotedSpecs.join(" ")} ;;`;
  });
  return `#compdef zarr-parts
_zarr_parts() {
  local -a commands=(
${indented(described, 4)}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    _arguments --help --version
    return
  fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
${indented(branches, 4)}
  esac
}
if [ "$funcstack[1]" = _zarr-parts ]; then
  _zarr_parts "$@"
else
  (( $+functions[compdef] )) || { autoload -U compinit && compinit }
  compdef _zarr_parts zarr-parts
fi`;
}

function fishScript(commands: readonly CompletedCommand[]): string {
  const quote = (text: string) => quoted(text.replaceAll("\\", "\\\\"), "\\'");
  return commands.flatMap(({ name, description, options, operands }) => {
    const after =
      `complete -c zarr-parts -n '__fish_seen_subcommand_from ${name}'`;
    return [
      `complete -c zarr-parts -n __fish_use_subcommand -f -a ${name} -d ${
        quote(description)
      }`,
      ...operands ? [`${after} -f -a ${quote(operands.join(" "))}`] : [],
      ...options.map(({ name, description, hasValue }) => {
        const values = VALUES[name];
        const value = values ? ` -x -a ${quote(values.join(" "))}` : " -r";
        return `${after} -l ${name}${hasValue ? value : ""} -d ${
          quote(description)
        }`;
      }),
    ];
  }).concat(
    "complete -c zarr-parts -n __fish_use_subcommand -l help -d 'print this help'",
    "complete -c zarr-parts -n __fish_use_subcommand -l version -d 'print the version'",
  ).join("\n");
}

function namesOf(commands: readonly Completed[]): string {
  return commands.map(({ name }) => name).join(" ");
}

function indented(lines: readonly string[], spaces: number): string {
  return lines.map((line) => " ".repeat(spaces) + line).join("\n");
}

/** A text between single quotes, and what stands for such a quote in it. */
function quoted(text: string, quote: string): string {
  return `'${text.replaceAll("'", () => quote)}'`;
}
