/** The scripts with which a shell completes commands and options; they start no program. */
import type { CompletedCommand, CompletedOption } from "./table.ts";

export type Shell = "bash" | "zsh" | "fish";

export function completionScript(shell: Shell, program: string, table: readonly CompletedCommand[]): string {
  return { bash, zsh, fish }[shell](program, table);
}

/** Patterns of `case`, which bash and zsh share: from a command and the next word to the command below. */
function steps(table: readonly CompletedCommand[], variable: string): string {
  const cases = table.filter(({ path }) => path !== "").map(({ path }) => `      ${path}) ${variable}=${path} ;;`);
  return cases.join("\n");
}

/** Patterns of options that take a value of that kind, by command. */
function withValue(table: readonly CompletedCommand[], ...kinds: readonly CompletedOption["value"][]): string {
  const patterns = table.flatMap(({ path, options }) =>
    options.filter(({ value }) => kinds.includes(value)).map(({ name }) => `${path}:${name}`),
  );
  return patterns.join("|");
}

function bash(program: string, table: readonly CompletedCommand[]): string {
  const words = table.map(({ path, subcommands, options, takesFile }) => {
    const all = [...subcommands, ...options].map(({ name }) => name).join(" ");
    return `    "${path}") words="${all}"; files=${takesFile ? 1 : 0} ;;`;
  });
  return `# Completion of ${program} for bash: source this file.
_${program}() {
  local at="" words="" files=0 skip=0 i word
  local cur="\${COMP_WORDS[COMP_CWORD]}"
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    if ((skip)); then skip=0; continue; fi
    case "$at:$word" in
      ${withValue(table, "file", "text")}) skip=1 ;;
    esac
    case "$at/$word" in
${steps(table, "at")}
    esac
  done
  COMPREPLY=()
  if ((skip)); then
    case "$at:\${COMP_WORDS[COMP_CWORD-1]}" in
      ${withValue(table, "file")}) local IFS=$'\\n'; COMPREPLY=($(compgen -f -- "$cur")) ;;
    esac
    return
  fi
  case "$at" in
${words.join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  if ((files)); then local IFS=$'\\n'; COMPREPLY+=($(compgen -f -- "$cur")); fi
}
complete -o filenames -F _${program} ${program}
`;
}

function zsh(program: string, table: readonly CompletedCommand[]): string {
  const described = table.map(({ path, subcommands, options, takesFile }) => {
    const items = [...subcommands, ...options].map(({ name, description }) => quoted(`${name}:${description}`));
    return `    "${path}") items=(${items.join(" ")}); files=${takesFile ? 1 : 0} ;;`;
  });
  return `#compdef ${program}
# Completion of ${program} for zsh: a file _${program} in a folder of $fpath, or sourced after compinit.
_${program}() {
  local at="" word
  local -i i files=0 skip=0
  local -a items
  for ((i = 2; i < CURRENT; i++)); do
    word="\${words[i]}"
    if ((skip)); then skip=0; continue; fi
    case "$at:$word" in
      ${withValue(table, "file", "text")}) skip=1 ;;
    esac
    case "$at/$word" in
${steps(table, "at")}
    esac
  done
  if ((skip)); then
    case "$at:\${words[CURRENT-1]}" in
      ${withValue(table, "file")}) _files ;;
    esac
    return
  fi
  case "$at" in
${described.join("\n")}
  esac
  _describe '${program}' items
  if ((files)); then _files; fi
}
if [[ "\${funcstack[1]}" = _${program} ]]; then _${program} "$@"; else compdef _${program} ${program}; fi
`;
}

function fish(program: string, table: readonly CompletedCommand[]): string {
  const lines = table.flatMap(({ path, subcommands, options, takesFile }) => {
    const here = `complete -c ${program} -n '__${program}_at ${path === "" ? "/" : path}'`;
    return [
      ...subcommands.map(({ name, description }) => `${here} -a ${name} -d ${quoted(description)}`),
      ...options.map(({ name, description, value }) => {
        const takes = { none: "", file: " -r -F", text: " -x" }[value];
        return `${here} -l ${name.slice(2)} -d ${quoted(description)}${takes}`;
      }),
      ...(takesFile ? [`${here} -F`] : []),
    ];
  });
  const cases = table
    .filter(({ path }) => path !== "")
    .map(
      ({ path }) => `      case ${path}
        set at ${path}`,
    );
  const valued = table.flatMap(({ path, options }) =>
    options.filter(({ value }) => value !== "none").map(({ name }) => quoted(`${path}:${name}`)),
  );
  return `# Completion of ${program} for fish: ~/.config/fish/completions/${program}.fish
function __${program}_at
  set -l at
  set -l skip 0
  for word in (commandline -opc)[2..]
    if test $skip = 1
      set skip 0
      continue
    end
    if contains -- "$at:$word" ${valued.join(" ")}
      set skip 1
    end
    switch "$at/$word"
${cases.join("\n")}
    end
  end
  test -z "$at"; and set at /
  test "$at" = "$argv[1]"
end
complete -c ${program} -f
${lines.join("\n")}
`;
}

/** In quotes that zsh and fish read alike: a description has neither of the two characters that differ. */
function quoted(text: string): string {
  return `'${text.replaceAll("\\", "").replaceAll("'", "’")}'`;
}
