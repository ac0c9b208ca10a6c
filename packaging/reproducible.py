#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the packages of the current commit in this folder and in a clone elsewhere, and compares their bytes.

The clone compiles without ccache, so that no object comes from this folder. Both use the same environments of .deps.
Exit codes: 0 all packages are equal, 1 some differ or one folder lacks some."""

import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
KINDS = ("wheels", "archive", "deb")


def hash_packages(folder):
    """Returns the SHA-256 of each file in a folder, by name."""
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(folder.iterdir())}


def find_differences(here, there):
    """Returns a sentence for each package that the two folders do not hold with equal bytes."""
    differences = []
    for name in sorted(here.keys() | there.keys()):
        if name not in there or name not in here:
            differences.append(f"{name} was built in only one of the folders")
        elif here[name] != there[name]:
            differences.append(f"{name} differs: {here[name][:12]} here, {there[name][:12]} in the other folder")
    return differences


def build(folder, **variables):
    """Builds all packages in a folder with a checkout, and returns their hashes."""
    for file in (folder / "build/packages").glob("*"):
        file.unlink()
    for kind in KINDS:
        subprocess.run(["scripts/package", kind], cwd=folder, check=True, env=os.environ | variables)
    return hash_packages(folder / "build/packages")


def clone(folder):
    """Makes a clone of the current commit that uses this folder's environments."""
    subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True)
    (folder / ".deps").mkdir()
    for environment in (ROOT / ".deps").iterdir():
        (folder / ".deps" / environment.name).symlink_to(environment)


def main():
    if subprocess.run(["git", "diff", "--quiet", "HEAD"], cwd=ROOT, check=False).returncode:
        sys.exit("packaging/reproducible.py compares builds of one commit: commit or stash the changes first")
    with tempfile.TemporaryDirectory() as folder:
        other = pathlib.Path(folder) / "clone"
        clone(other)
        here, there = build(ROOT), build(other, CCACHE_DISABLE="1")
    differences = find_differences(here, there)
    print("\n".join(differences or [f"{len(here)} packages are equal in both folders"]))
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
