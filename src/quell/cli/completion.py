"""``quell completion``: completion for shells, made from the parser itself."""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

SHELLS = ("bash", "zsh", "fish")

EPILOG = """\
examples:
  bash:  quell completion bash > ~/.local/share/bash-completion/completions/quell
  zsh:   quell completion zsh > "${fpath[1]}/_quell"
  fish:  quell completion fish > ~/.config/fish/completions/quell.fish

or for this session only:  source <(quell completion bash)"""


def add(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "completion", help="completion of commands and options for your shell", epilog=EPILOG,
        description="Print the completion script of a shell.",
    )  # fmt: skip
    parser.add_argument("shell", choices=SHELLS, help="the shell")
    parser.set_defaults(action=run)


def run(chosen: argparse.Namespace) -> int:
    """Print the script."""
    make = {"bash": bash, "zsh": zsh, "fish": fish}[chosen.shell]
    print(make(chosen.parser))
    return 0


@dataclass(frozen=True)
class Level:
    """What may come after the words ``path`` of a command line, with help texts.

    ``words`` are commands, or choices of an argument; ``options`` begin with dashes.
    """

    path: tuple[str, ...]
    words: dict[str, str]
    options: dict[str, str]


def levels(parser: argparse.ArgumentParser, path: tuple[str, ...] = ()) -> Iterator[Level]:
    """All levels of a parser, the commands of each below it."""
    words: dict[str, str] = {}
    options: dict[str, str] = {}
    below: list[tuple[str, argparse.ArgumentParser]] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {one.dest: one.help or "" for one in action._choices_actions}
            words |= {name: helps.get(name, "") for name in action.choices}
            below += list(action.choices.items())
        elif action.option_strings:
            text = (action.help or "").split(" (")[0]
            options |= {name: text for name in action.option_strings if name.startswith("--")}
        elif action.choices:
            words |= {str(choice): action.help or "" for choice in action.choices}
    yield Level(path, words, options)
    for name, child in below:
        yield from levels(child, (*path, name))


def bash(parser: argparse.ArgumentParser) -> str:
    """The script for bash; files are completed where no option is begun."""
    cases = "\n".join(
        f'    "{" ".join(level.path)}") words="{" ".join([*level.words, *level.options])}" ;;'
        for level in levels(parser)
    )
    known = "|".join(" ".join(level.path) for level in levels(parser) if level.path)
    return f"""\
# completion of quell for bash
_quell() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" path="" words="" i next
  for ((i = 1; i < COMP_CWORD; i++)); do
    next="${{path:+$path }}${{COMP_WORDS[i]}}"
    case "$next" in {"|".join(f'"{name}"' for name in known.split("|"))}) path="$next" ;; esac
  done
  case "$path" in
{cases}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [[ -n "$path" && "$current" != -* ]]; then
    COMPREPLY+=($(compgen -f -- "$current"))
  fi
}}
complete -o filenames -F _quell quell"""


def zsh(parser: argparse.ArgumentParser) -> str:
    """The script for zsh."""
    cases = "\n".join(
        f"    {_quoted(' '.join(level.path))})\n      words=({_described(level, ':')}) ;;"
        for level in levels(parser)
    )
    known = "|".join(_quoted(" ".join(level.path)) for level in levels(parser) if level.path)
    return f"""\
#compdef quell
_quell() {{
  local at="" next i
  local -a words_typed words
  words_typed=("${{(@)words}}")
  for ((i = 2; i < CURRENT; i++)); do
    next="${{at:+$at }}${{words_typed[i]}}"
    case "$next" in ({known}) at="$next" ;; esac
  done
  case "$at" in
{cases}
  esac
  _describe 'quell' words
  if [[ -n "$at" ]]; then _files; fi
}}
if [[ "$funcstack[1]" = _quell ]]; then _quell "$@"; else compdef _quell quell; fi"""


def fish(parser: argparse.ArgumentParser) -> str:
    """The script for fish."""
    lines = ["# completion of quell for fish", "complete -c quell -f -n __fish_use_subcommand"]
    for level in levels(parser):
        if level.path:
            condition = "; and ".join(f"__fish_seen_subcommand_from {one}" for one in level.path)
            if level.words:
                condition += f"; and not __fish_seen_subcommand_from {' '.join(level.words)}"
        else:
            condition = "__fish_use_subcommand"
        for word, text in level.words.items():
            lines.append(f"complete -c quell -n {_quoted(condition)} -a {word} -d {_quoted(text)}")
        for option, text in level.options.items():
            name = option.removeprefix("--")
            lines.append(f"complete -c quell -n {_quoted(condition)} -l {name} -d {_quoted(text)}")
    return "\n".join(lines)


def _described(level: Level, between: str) -> str:
    entries = {**level.words, **level.options}
    return " ".join(
        _quoted(f"{name}{between}{text.replace(':', ' ')}") for name, text in entries.items()
    )


def _quoted(text: str) -> str:
    """Text in single quotes, for any of the shells.

    >>> print(_quoted("the run's seed"))
    'the run'\\''s seed'
    """
    return "'" + text.replace("'", "'\\''") + "'"
