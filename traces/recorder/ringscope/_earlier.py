# SPDX-License-Identifier: Apache-2.0
"""Sets an earlier recording aside, so that a folder holds the newest one."""

import fcntl
import os
import re
import sys

_RANK_FILE = re.compile(r"rank-(\d{5})\.")


def lock(file):
    """Marks an open rank file as being written. A file system without locks has none."""
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        pass


def _is_written(path):
    """Reports whether another job is writing a rank file."""
    try:
        with open(path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


def set_aside(folder, rank, world_size):
    """Moves a rank's files of an earlier recording into the folder before-1, before-2, … within `folder`. Rank 0 also
    moves the files of ranks that this job does not have. No other rank's file is touched.

    Raises FileExistsError if another job is writing one of the files.
    """
    mine = {}
    for name in os.listdir(folder):
        found = _RANK_FILE.match(name)
        owner = int(found[1]) if found else -1
        if owner == rank or (rank == 0 and owner >= world_size):
            mine.setdefault(owner, []).append(name)
    for owner, names in sorted(mine.items()):
        if any(name.endswith(".jsonl") and _is_written(os.path.join(folder, name)) for name in names):
            raise FileExistsError(f"another job is recording into {folder}; give this one another folder")
        number = 1
        while any(os.path.exists(os.path.join(folder, f"before-{number}", name)) for name in names):
            number += 1
        aside = os.path.join(folder, f"before-{number}")
        os.makedirs(aside, exist_ok=True)
        for name in names:
            os.replace(os.path.join(folder, name), os.path.join(aside, name))
        if owner == 0:
            print(f"ringscope: {folder} held an earlier recording, which is now in {aside}", file=sys.stderr)
