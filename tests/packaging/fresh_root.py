# SPDX-License-Identifier: Apache-2.0
"""Roots of a file system with little in them, in which installed packages are used without network."""

import os
import pathlib
import shlex
import shutil
import subprocess

GLIBC = ("libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libresolv.so.2")
ISOLATE = ("unshare", "--map-root-user", "--net", "--mount", "--pid", "--fork")


class FreshRoot:
    """A root that has glibc and what is put into it: no shell, no Qt, no compiler, no network."""

    binds = {}  # folders of this machine that programs of the root see: {path here: path in the root}

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        libraries = self.folder / "lib/x86_64-linux-gnu"
        for path in (libraries, self.folder / "lib64", self.folder / "proc", self.folder / "tmp"):
            path.mkdir(parents=True)
        for name in GLIBC:
            shutil.copy(f"/lib/x86_64-linux-gnu/{name}", libraries)
        shutil.copy("/lib64/ld-linux-x86-64.so.2", self.folder / "lib64")

    def run(self, *command):
        """Runs a program of this root with an empty environment, without network."""
        script = 'mount -t proc proc "$0/proc" && '
        for source, target in self.binds.items():
            (self.folder / target.lstrip("/")).mkdir(parents=True, exist_ok=True)
            script += f'mount --bind {shlex.quote(str(source))} "$0"{shlex.quote(target)} && '
        script += 'exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin "$CHROOT" "$0" "$@"'
        words = [*ISOLATE, "sh", "-c", script, str(self.folder), *map(str, command)]
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "CHROOT": shutil.which("chroot") or "/usr/sbin/chroot"}
        return subprocess.run(words, capture_output=True, text=True, check=False, env=environment)


class DebianRoot(FreshRoot):
    """A minimal Debian with some packages, which debootstrap makes. Only making it needs the network."""

    def __init__(self, folder, packages=(), release="bookworm"):
        self.folder = pathlib.Path(folder)
        include = [f"--include={','.join(packages)}"] if packages else []
        command = ["debootstrap", "--variant=minbase", *include, release, folder, find_mirror()]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"debootstrap failed: {done.stdout.strip().splitlines()[-1:]}")


def draw_every_view(test, run, gui, sample, folder):
    """Checks that a window's program draws each of its views of a recording into a folder. Returns the views. `run` starts
    a program; paths are as that program sees them."""
    listed = run(gui, "--list-views")
    test.assertEqual(listed.returncode, 0, listed.stderr)
    views = listed.stdout.split()
    test.assertIn("ring", views)
    for view in views:
        against = ("--against", sample) if view == "compare" else ()
        drawn = run(gui, sample, "--view", view, "--screenshot", f"{folder}/{view}.png", *against)
        test.assertEqual(drawn.returncode, 0, f"{view}: {drawn.stderr}")
    return views


def find_mirror():
    """Returns the address of the archive that this system installs from; empty when it is none of Debian 12."""
    if shutil.which("apt-get") is None:
        return ""
    listing = ["apt-get", "indextargets", "--format", "$(SITE) $(CODENAME) $(CREATED_BY)"]
    lines = subprocess.run(listing, capture_output=True, text=True, check=False).stdout.splitlines()
    return next((line.split()[0] for line in lines if line.split()[1:] == ["bookworm", "Packages"]), "")


def describe_debian_obstacle():
    """Returns why no minimal Debian can be made; empty when it can be tried."""
    if shutil.which("debootstrap") is None:
        return "debootstrap is not installed"
    if os.geteuid() != 0:
        return "only root can make a Debian root"
    if not find_mirror():
        return "this system does not install from an archive of Debian 12"
    return describe_obstacle()


def describe_obstacle():
    """Returns why this system cannot use fresh roots; empty when it can."""
    if shutil.which("unshare") is None:
        return "unshare is not installed"
    if not pathlib.Path("/lib64/ld-linux-x86-64.so.2").exists() or not pathlib.Path("/lib/x86_64-linux-gnu/libm.so.6").exists():
        return "this system is not a Debian for x86_64"
    tried = subprocess.run([*ISOLATE, "sh", "-c", "mount -t proc proc /proc"], capture_output=True, text=True, check=False)
    return "" if tried.returncode == 0 else f"unshare may not make a root: {tried.stderr.strip()}"
