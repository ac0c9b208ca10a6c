# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts RingScope's window with the Qt of PySide6 in the same environment."""

import os
import pathlib
import subprocess
import sys

FOLDER = pathlib.Path(__file__).parent
PROGRAM = FOLDER / "ringscope-gui"
# The Debian packages of the system libraries that Qt needs and that its wheels do not contain.
PACKAGES = {
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libX11-xcb.so.1": "libx11-xcb1",
    "libX11.so.6": "libx11-6",
    "libdbus-1.so.3": "libdbus-1-3",
    "libfontconfig.so.1": "libfontconfig1",
    "libfreetype.so.6": "libfreetype6",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libgthread-2.0.so.0": "libglib2.0-0",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-render.so.0": "libxcb-render0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-shm.so.0": "libxcb-shm0",
    "libxcb-sync.so.1": "libxcb-sync1",
    "libxcb-util.so.1": "libxcb-util1",
    "libxcb-xfixes.so.0": "libxcb-xfixes0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
    "libxcb.so.1": "libxcb1",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libzstd.so.1": "libzstd1",
}


def missing_libraries(listing):
    """Returns the names of libraries that the dynamic loader's listing does not find."""
    return sorted({line.split("=>")[0].strip() for line in listing.splitlines() if line.endswith("=> not found")})


def describe_missing(names):
    """Returns one sentence that names the missing libraries and the Debian packages that contain them."""
    if any(name.startswith("libQt6") for name in names):
        return "the Qt of PySide6-Addons is not installed in this Python environment; run: pip install PySide6-Addons"
    packages = sorted({PACKAGES[name] for name in names if name in PACKAGES})
    advice = f"; on Debian and Ubuntu, run: apt-get install {' '.join(packages)}" if packages else ""
    return f"the window needs {', '.join(names)}, which this system does not have{advice}"


def list_libraries(path):
    """Returns what the dynamic loader lists for a program or a library, without running its code."""
    loader = next((str(file) for file in pathlib.Path("/lib64").glob("ld-linux*.so.*")), None)
    command = [loader, str(path)] if loader else ["ldd", str(path)]
    # The loader's option --list would end at the first library that is missing.
    environment = os.environ | {"LD_TRACE_LOADED_OBJECTS": "1"} if loader else None
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment).stdout


def needs_display(arguments):
    """Reports whether these arguments open a window."""
    drawing = ("--screenshot", "--explain", "--list-views", "--version", "--help", "-h")
    names = [argument.split("=")[0] for argument in arguments]
    return not any(name in drawing or name.startswith("--export-") for name in names)


def main():
    missing = missing_libraries(list_libraries(PROGRAM))
    platform = FOLDER.parent / "PySide6" / "Qt" / "plugins" / "platforms" / "libqxcb.so"
    if not missing and needs_display(sys.argv[1:]) and os.environ.get("DISPLAY") and platform.exists():
        missing = missing_libraries(list_libraries(platform))
    if missing:
        print(f"ringscope-gui: {describe_missing(missing)}", file=sys.stderr)
        return 2
    # The window finds ringscope and ringscope-engine beside the command that started it.
    os.environ.setdefault("RINGSCOPE_PROGRAMS", os.path.dirname(os.path.abspath(sys.argv[0])))
    os.execv(PROGRAM, [str(PROGRAM), *sys.argv[1:]])
