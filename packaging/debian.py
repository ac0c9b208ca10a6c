#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the bill of materials and the copyright file of the Debian package.

Usage: `debian.py STAGED FOLDER`. STAGED has the installed files of the package, FOLDER gets the two files.
SOURCE_DATE_EPOCH dates the bill; without it, the commit does.
"""

import pathlib
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from materials import DEBIAN_PARTS, File, Part, bill_of_materials  # noqa: E402
from wheels import DOCUMENTS, commit_date, project_version  # noqa: E402

OWN = "share/doc/ringscope"


def file_licence(path):
    """Returns the licence of an installed file. Texts of licences have none."""
    if path.startswith(OWN):
        return "NOASSERTION"
    return "GPL-3.0-or-later" if path == "bin/ringscope-gui" else "Apache-2.0"


def write_copyright(parts):
    """Returns the copyright file: the licences of the programs, then the licence of every part."""
    text = "RingScope\n\nringscope and the data files: Apache-2.0, see /usr/share/common-licenses/Apache-2.0.\n"
    text += "ringscope-gui: GPL-3.0-or-later, see /usr/share/common-licenses/GPL-3.\n"
    for part in parts:
        licence = (DOCUMENTS / part.debian / "copyright").read_text()
        text += f"\n{'=' * 80}\nThe programs contain {part.name}, {part.licence}:\n\n{licence}"
    return text


def main():
    staged, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    (folder / "copyright").write_text(write_copyright(DEBIAN_PARTS))
    left_out = [f"usr/{OWN}/{name}" for name in ("ringscope.spdx.json",)]
    files = {f"usr/{OWN}/copyright": File((folder / "copyright").read_bytes())}
    for path in sorted(path for path in staged.rglob("*") if path.is_file()):
        name = str(path.relative_to(staged))
        files[f"usr/{name}"] = File(path.read_bytes(), file_licence(name))
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(commit_date()))
    own = Part("ringscope", "Apache-2.0 AND GPL-3.0-or-later", version=project_version())
    bill = bill_of_materials(own, DEBIAN_PARTS, files, created, left_out)
    (folder / "ringscope.spdx.json").write_text(bill)


if __name__ == "__main__":
    main()
