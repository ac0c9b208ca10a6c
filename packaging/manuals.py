#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes manual pages, and completions for bash, zsh and fish, from the help texts of built programs.

Usage: `manuals.py BIN FOLDER`.

BIN has ringscope and ringscope-gui. Commands whose program is missing there, such as the engine's, get no page.
"""

import os
import pathlib
import re
import subprocess
import sys


def read_help(*command):
    """Returns what a program prints for --help; empty when it fails."""
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "COLUMNS": "100"}
    shown = subprocess.run([*command, "--help"], capture_output=True, text=True, env=environment, check=False)
    return shown.stdout if shown.returncode == 0 else ""


def find_commands(text):
    """Returns (name, description) of each command that the help of ringscope lists."""
    listed = text.partition("Subcommands:\n")[2]
    return [(name, about.replace("'", "’")) for name, about in re.findall(r"^  ([a-z]+) +(.+)$", listed, re.M)]


def find_options(text):
    """Returns the long options of a help text, in its order."""
    options = []
    for line in text.splitlines():
        named = re.match(r"\s+((?:-\w,\s?)?--[a-z][a-z0-9,-]*)", line)
        options += re.findall(r"--[a-z][a-z0-9-]*", named[1]) if named else []
    return options


def escape(text):
    """Returns text that troff prints as it is."""
    lines = text.replace("\\", "\\e").replace("-", "\\-").splitlines()
    return "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in lines)


def manual(name, description, body, date):
    """Returns a manual page of section 1 whose text is the help of a program."""
    heads = "".join(f".SH {title}\n.nf\n{escape(text.strip())}\n.fi\n" for title, text in body)
    return f'.TH "{name.upper()}" "1" "{date}" "RingScope"\n.SH NAME\n{name} \\- {escape(description)}\n{heads}'


def bash_completion(commands):
    cases = "".join(f"    {name}) words='{' '.join(options)}' ;;\n" for name, _, options in commands)
    names = " ".join(name for name, _, _ in commands)
    return f"""# Completes the commands and options of ringscope.
_ringscope() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} words=
  if [ "$COMP_CWORD" = 1 ]; then
    COMPREPLY=($(compgen -W '{names} --help --version' -- "$word"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
{cases}  esac
  case $word in -*) COMPREPLY=($(compgen -W "$words" -- "$word")) ;; *) COMPREPLY=($(compgen -f -- "$word")) ;; esac
}}
complete -o filenames -F _ringscope ringscope
"""


def zsh_completion(commands):
    lines = "".join(f"    '{name}:{about}'\n".replace("`", "") for name, about, _ in commands)
    cases = "".join(f"    {name}) compadd -- {' '.join(options)} ;;\n" for name, _, options in commands)
    return f"""#compdef ringscope
local -a commands
if (( CURRENT == 2 )); then
  commands=(
{lines}  )
  _describe command commands
elif [[ $PREFIX == -* ]]; then
  case $words[2] in
{cases}  esac
else
  _files
fi
"""


def fish_completion(commands):
    lines = []
    for name, about, options in commands:
        lines.append(f"complete -c ringscope -n __fish_use_subcommand -f -a {name} -d '{about}'")
        for option in options:
            lines.append(f"complete -c ringscope -n '__fish_seen_subcommand_from {name}' -l {option[2:]}")
    return "\n".join(lines) + "\n"


def write_manuals(bin_folder, folder, date):
    """Writes all files into the folder, under the names that a Debian package installs."""
    program = str(bin_folder / "ringscope")
    overview = read_help(program)
    helps = {name: read_help(program, name) for name, _ in find_commands(overview)}
    commands = [(name, about, find_options(helps[name])) for name, about in find_commands(overview) if helps[name]]
    sections = [("COMMANDS", overview)] + [(name.upper(), helps[name]) for name, _, _ in commands]
    window = read_help(str(bin_folder / "ringscope-gui")).replace(str(bin_folder) + "/", "")
    files = {
        "man/ringscope.1": manual("ringscope", "debugs context-parallel training", sections, date),
        "man/ringscope-gui.1": manual("ringscope-gui", "the window of RingScope", [("OPTIONS", window)], date),
        "bash/ringscope": bash_completion(commands),
        "zsh/_ringscope": zsh_completion(commands),
        "fish/ringscope.fish": fish_completion(commands),
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def main():
    bin_folder, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    write_manuals(bin_folder, folder, os.environ.get("RINGSCOPE_PACKAGE_DATE", ""))


if __name__ == "__main__":
    main()
