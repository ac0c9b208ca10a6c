#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes an archive that runs from any folder: the programs, Qt, and the libraries that Qt needs.

Usage: `archive.py --output FOLDER --command-line FILE --window FILE [--licence NAME=FILE]…`.

The libraries are copied from this Debian system. glibc and the drivers of graphics cards are left out.
"""

import argparse
import gzip
import io
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from materials import COMMAND_LINE_PARTS, LIBRARY_LICENCES, WINDOW_PARTS, ZIG_PARTS, File, Part  # noqa: E402
from materials import bill_of_materials, debian_field  # noqa: E402
from wheels import DOCUMENTS, SOURCE, commit_date, project_version  # noqa: E402

LIBRARIES = "lib/ringscope"  # where the run path of the window points
PLUGINS = [
    "platforms/libqoffscreen.so",
    "platforms/libqxcb.so",
    "platforms/libqwayland-*.so",
    "platforminputcontexts/libcompose*.so",
    "wayland-*/*.so",
    "xcbglintegrations/*.so",
]
# Libraries that must be those of the system: glibc, and what belongs to the drivers of graphics cards.
LEFT_OUT = re.compile(
    r"(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|util|nsl|anl|mvec)|lib(drm|gbm|nvidia|vulkan|LLVM|gallium|va|vdpau).*)\.so.*"
)
COMMON = pathlib.Path("/usr/share/common-licenses")
LOADER = "/lib64/ld-linux-x86-64.so.2"


def fail(sentence):
    sys.exit(f"ringscope: {sentence}")


def needed_libraries(path):
    """Returns {name: path} of all libraries that the loader finds for a program or a plugin."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("LD_")}
    done = subprocess.run([LOADER, "--list", str(path)], capture_output=True, text=True, check=False, env=clean)
    if done.returncode != 0:
        fail(f"the loader cannot list the libraries of {path}: {done.stderr.strip()}")
    missing = re.findall(r"^\t(\S+) => not found$", done.stdout, re.M)
    if missing:
        fail(f"{path} needs {', '.join(missing)}, which this system lacks; install the library and run this again")
    return dict(re.findall(r"^\t(\S+) => (\S+)", done.stdout, re.M))


def find_package(path):
    """Returns the Debian package that a library comes from. Fails for a library of no package."""
    real = pathlib.Path(path).resolve()
    for name in (str(real), str(real).removeprefix("/usr"), path):
        done = subprocess.run(["dpkg-query", "-S", name], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout.split(":")[0]
    return fail(f"{path} comes from no Debian package, so its licence is unknown")


class Archive:
    """The files of the archive, and the parts that they come from."""

    def __init__(self, version, licences):
        self.version = version
        self.licences = licences  # name of a part -> file with its licence
        self.files = {}  # path -> (File, mode)
        self.parts = {}  # name -> Part
        self.texts = {}  # name of a licence text -> content

    def add(self, path, content, licence="NOASSERTION", mode=0o644):
        self.files[path] = (File(content.encode() if isinstance(content, str) else content, licence), mode)

    def add_part(self, part):
        """Lists a part, and adds its licence."""
        text = self.licences.get(part.name, DOCUMENTS / (part.debian or part.name) / "copyright")
        if not text.exists():
            fail(f"the licence of {part.name} is missing at {text}; install its Debian package with its documents")
        self.parts[part.name] = part
        self.texts[part.name] = text.read_bytes()

    def add_library(self, path, source):
        """Adds a library under `path`, with its Debian package as a part."""
        package = find_package(source)
        origin = debian_field(package, "source:Package")
        licence = LIBRARY_LICENCES.get(re.sub(r"-\d+$", "", origin))
        if licence is None:
            fail(f"{source} comes from {origin}; add the licence of {origin} to LIBRARY_LICENCES in packaging/materials.py")
        self.add_part(Part(package, licence, package))
        self.add(path, pathlib.Path(source).resolve().read_bytes(), licence)

    def add_window(self, window):
        """Adds the window, the plugins of Qt, and all libraries that they need."""
        self.add("bin/ringscope-gui", window.read_bytes(), "GPL-3.0-or-later", 0o755)
        self.add("bin/qt.conf", f"[Paths]\nPrefix = ..\nPlugins = {LIBRARIES}/plugins\n", "GPL-3.0-or-later")
        core = needed_libraries(window)["libQt6Core.so.6"]
        folder = pathlib.Path(core).parent / "qt6/plugins"
        plugins = sorted(path for pattern in PLUGINS for path in folder.glob(pattern))
        libraries = needed_libraries(window)
        for plugin in plugins:
            self.add_library(f"{LIBRARIES}/plugins/{plugin.relative_to(folder)}", str(plugin))
            libraries |= needed_libraries(plugin)
        for name, source in sorted(libraries.items()):
            if not LEFT_OUT.fullmatch(name):
                self.add_library(f"{LIBRARIES}/{name}", source)

    def add_licences(self):
        """Adds the licence of every part, and the texts of Debian that they refer to."""
        folder = "share/doc/ringscope/licenses"
        for name in sorted({name for text in self.texts.values() for name in re.findall(rb"common-licenses/([\w.-]*\w)", text)}):
            common = COMMON / name.decode()
            if common.exists():
                self.add(f"{folder}/{common.name}", common.read_bytes())
        for name, text in self.texts.items():
            self.add(f"{folder}/{name}.txt", text)
        for name in ("Apache-2.0", "GPL-3.0-or-later"):
            self.add(f"share/doc/ringscope/{name}.txt", (SOURCE / "LICENSES" / f"{name}.txt").read_bytes())

    def add_bill(self, epoch):
        """Adds the bill of materials, after all other files."""
        path = "share/doc/ringscope/ringscope.spdx.json"
        own = Part("ringscope", "Apache-2.0 AND GPL-3.0-or-later", version=self.version)
        created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch))
        files = {name: file for name, (file, _) in self.files.items()}
        parts = [part for _, part in sorted(self.parts.items())]
        self.add(path, bill_of_materials(own, parts, files, created, [path]))

    def write(self, path, epoch):
        """Writes a compressed tar archive whose bytes depend only on the files and the date."""
        top = path.name.removesuffix(".tar.gz")
        with open(path, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, 0) as packed:
            with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as tar:
                for name, (file, mode) in sorted(self.files.items()):
                    entry = tarfile.TarInfo(f"{top}/{name}")
                    entry.size, entry.mode, entry.mtime = len(file.content), mode, epoch
                    tar.addfile(entry, io.BytesIO(file.content))


def collect(options):
    """Returns the archive with all files."""
    archive = Archive(project_version(), options.licence)
    for part in [*COMMAND_LINE_PARTS, *WINDOW_PARTS, *ZIG_PARTS]:
        archive.add_part(part)
    archive.add("bin/ringscope", options.command_line.read_bytes(), "Apache-2.0", 0o755)
    archive.add_window(options.window)
    for name in ("ringscope.desktop", "ringscope.xml", "ringscope.svg"):
        place = {"desktop": "applications", "xml": "mime/packages", "svg": "icons/hicolor/scalable/apps"}[name.split(".")[1]]
        archive.add(f"share/{place}/{name}", (SOURCE / "packaging/desktop" / name).read_bytes(), "Apache-2.0")
    archive.add("share/ringscope/sample/text.txt", (SOURCE / "resources/sample/text.txt").read_bytes(), "Apache-2.0")
    archive.add_licences()
    archive.add_bill(commit_date())
    return archive


def named_file(text):
    name, _, path = text.partition("=")
    return name, pathlib.Path(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("output", "command-line", "window"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--licence", type=named_file, action="append", default=[])
    options = parser.parse_args()
    options.licence = dict(options.licence)
    options.output.mkdir(parents=True, exist_ok=True)
    path = options.output / f"ringscope-{project_version()}-x86_64-linux.tar.gz"
    collect(options).write(path, commit_date())
    print(path)


if __name__ == "__main__":
    main()
