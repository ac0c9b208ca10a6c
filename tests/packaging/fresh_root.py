# SPDX-License-Identifier: Apache-2.0
"""Roots of a file system with little in them, in which installed packages are used without network."""

import pathlib
import shutil
import subprocess

GLIBC = ("libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libresolv.so.2")
ISOLATE = ("unshare", "--map-root-user", "--net", "--mount", "--pid", "--fork")


class FreshRoot:
    """A root that has glibc and what is put into it: no shell, no Qt, no compiler, no network."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        libraries = self.folder / "lib/x86_64-linux-gnu"
        for path in (libraries, self.folder / "lib64", self.folder / "proc", self.folder / "tmp"):
            path.mkdir(parents=True)
        for name in GLIBC:
            shutil.copy(f"/lib/x86_64-linux-gnu/{name}", libraries)
        shutil.copy("/lib64/ld-linux-x86-64.so.2", self.folder / "lib64")

    def run(self, *command):
        """Runs a program of this root with an empty environment."""
        script = 'mount -t proc proc "$0/proc" && exec env -i "$(command -v chroot || echo /usr/sbin/chroot)" "$0" "$@"'
        words = [*ISOLATE, "sh", "-c", script, str(self.folder), *map(str, command)]
        return subprocess.run(words, capture_output=True, text=True, check=False)


def describe_obstacle():
    """Returns why this system cannot use fresh roots; empty when it can."""
    if shutil.which("unshare") is None:
        return "unshare is not installed"
    if not pathlib.Path("/lib64/ld-linux-x86-64.so.2").exists() or not pathlib.Path("/lib/x86_64-linux-gnu/libm.so.6").exists():
        return "this system is not a Debian for x86_64"
    tried = subprocess.run([*ISOLATE, "sh", "-c", "mount -t proc proc /proc"], capture_output=True, text=True, check=False)
    return "" if tried.returncode == 0 else f"unshare may not make a root: {tried.stderr.strip()}"
