#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the wheels ringscope, ringscope-gui and ringscope-engine from built programs.

Usage: `wheels.py --output FOLDER [--command-line FILE] [--window FILE] [--engine FILE [--library FILE]…]`.

The option --licence NAME=FILE adds the licence of a part that no Debian package documents.

The tag of a wheel names the newest glibc whose symbols its programs need. SOURCE_DATE_EPOCH dates the files; without
it, the commit does. The script scripts/package builds the programs and calls this program.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from materials import COMMAND_LINE_PARTS, ENGINE_PARTS, WINDOW_PARTS, ZIG_PARTS, File, Part  # noqa: E402
from materials import bill_of_materials  # noqa: E402
from wheel import Wheel  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parents[1]
DOCUMENTS = pathlib.Path("/usr/share/doc")
TORCH = "2.11"
LICENCES = {}  # name of a part -> file with its licence, from --licence


def project_version():
    """Returns the version that CMakeLists.txt states."""
    return re.search(r"project\(RingScope VERSION (\S+)", (SOURCE / "CMakeLists.txt").read_text())[1]


def commit_date():
    """Returns SOURCE_DATE_EPOCH, or the date of the commit, in seconds since 1970."""
    if "SOURCE_DATE_EPOCH" in os.environ:
        return int(os.environ["SOURCE_DATE_EPOCH"])
    shown = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=SOURCE, capture_output=True, text=True, check=False)
    return int(shown.stdout.strip() or 0)


def newest_glibc(path):
    """Returns (major, minor) of the newest glibc whose symbols a program needs."""
    listing = subprocess.run(["objdump", "-T", path], capture_output=True, text=True, check=True).stdout
    return max((int(a), int(b)) for a, b in re.findall(r"\bGLIBC_(\d+)\.(\d+)", listing))


def platform_tag(*paths):
    """Returns the tag of a wheel with these programs."""
    machines = {62: "x86_64", 183: "aarch64"}  # e_machine of the ELF header
    machine = machines[int.from_bytes(paths[0].read_bytes()[18:20], "little")]
    major, minor = max(newest_glibc(path) for path in paths)
    return f"py3-none-manylinux_{major}_{max(minor, 17)}_{machine}"


def file_licence(path, licence):
    """Returns the licence of a file of a wheel. Texts of licences have none, and libraries have their own."""
    if "/licenses/" in path:
        return "NOASSERTION"
    return next((part.licence for part in ENGINE_PARTS if f"lib{part.name.lower()}.so" in path), licence)


def finish(wheel, folder, summary, licence, parts, headers):
    """Adds licences, the bill of materials and the metadata; writes the wheel and prints its path."""
    own = SOURCE / "LICENSES" / f"{licence}.txt"
    texts = {own.name: own.read_bytes()}
    for part in parts:
        path = LICENCES.get(part.name, DOCUMENTS / part.debian / "copyright")
        if path.exists():
            texts[f"{part.name}.txt"] = path.read_bytes()
    for name, text in texts.items():
        wheel.add(f"{wheel.dist_info}/licenses/{name}", text)
    date = "%04d-%02d-%02dT%02d:%02d:%02dZ" % wheel.date
    fixed = [("Summary", summary), ("License-Expression", licence)]
    fixed += [("License-File", name) for name in sorted(texts)]
    fixed += [("Requires-Python", ">=3.10"), ("Description-Content-Type", "text/markdown"), *headers]
    wheel.add_metadata(fixed, f"{summary}.\n")
    bill = f"{wheel.dist_info}/sboms/{wheel.name}.spdx.json"
    files = {path: File(content, file_licence(path, licence)) for path, (content, _) in wheel.files.items()}
    own = Part(wheel.name, licence, version=wheel.version)
    wheel.add(bill, bill_of_materials(own, parts, files, date, [bill, f"{wheel.dist_info}/RECORD"]))
    print(wheel.write(folder))


def add_launcher(wheel, program, package):
    """Adds a package of packaging/ with its program, and the command that starts it."""
    wheel.add(f"{package}/__init__.py", (SOURCE / "packaging" / package / "__init__.py").read_bytes())
    wheel.add(f"{package}/{program.name}", program.read_bytes(), executable=True)
    command = package.replace("_", "-")
    wheel.add(f"{wheel.dist_info}/entry_points.txt", f"[console_scripts]\n{command} = {package}:main\n")


def pack_command_line(program, version, epoch, folder):
    wheel = Wheel("ringscope", version, platform_tag(program), epoch)
    for path in sorted((SOURCE / "traces/recorder/ringscope").glob("*.py")):
        wheel.add(f"ringscope/{path.name}", path.read_bytes())
    wheel.add(f"{wheel.data}/scripts/ringscope", program.read_bytes(), executable=True)
    text = SOURCE / "resources/sample/text.txt"
    wheel.add(f"{wheel.data}/data/share/ringscope/sample/{text.name}", text.read_bytes())
    headers = []
    for extra in ("gui", "engine"):
        headers += [("Provides-Extra", extra), ("Requires-Dist", f"ringscope-{extra}=={version}; extra == '{extra}'")]
    summary = "Records and debugs PyTorch training under context parallelism"
    finish(wheel, folder, summary, "Apache-2.0", [*COMMAND_LINE_PARTS, *ZIG_PARTS], headers)


def pack_window(program, version, epoch, folder):
    wheel = Wheel("ringscope-gui", version, platform_tag(program), epoch)
    add_launcher(wheel, program, "ringscope_gui")
    headers = [("Requires-Dist", "PySide6-Addons>=6.4"), ("Requires-Dist", f"ringscope=={version}")]
    finish(wheel, folder, "The window of RingScope", "GPL-3.0-or-later", WINDOW_PARTS, headers)


def pack_engine(program, libraries, version, epoch, folder):
    wheel = Wheel("ringscope-engine", version, platform_tag(program, *libraries), epoch)
    add_launcher(wheel, program, "ringscope_engine")
    for library in libraries:
        wheel.add(f"ringscope_engine/{library.name}", library.read_bytes(), executable=True)
    headers = [("Requires-Dist", f"torch=={TORCH}.*"), ("Requires-Dist", f"ringscope=={version}")]
    finish(wheel, folder, "The training engine of RingScope", "Apache-2.0", ENGINE_PARTS, headers)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=pathlib.Path, required=True)
    for name in ("command-line", "window", "engine"):
        parser.add_argument(f"--{name}", type=pathlib.Path)
    parser.add_argument("--library", type=pathlib.Path, action="append", default=[])
    parser.add_argument("--licence", action="append", default=[])
    options = parser.parse_args()
    LICENCES.update((name, pathlib.Path(path)) for name, path in (one.split("=", 1) for one in options.licence))
    options.output.mkdir(parents=True, exist_ok=True)
    common = (project_version(), commit_date(), options.output)
    if options.command_line:
        pack_command_line(options.command_line, *common)
    if options.window:
        pack_window(options.window, *common)
    if options.engine:
        pack_engine(options.engine, options.library, *common)


if __name__ == "__main__":
    main()
