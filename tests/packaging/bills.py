# SPDX-License-Identifier: Apache-2.0
"""Checks of packages: their bills of materials, and paths of the building machine in their programs."""

import hashlib
import re

# Bytes that a program contains if a part is linked into it.
MARKS = {
    "SQLite": rb"SQLite format 3\x00",
    "zlib": rb"inflate 1\.\d[\d.]* Copyright",
    "CLI11": rb"N3CLI3AppE",
    "nlohmann-json": rb"json\.exception\.",
    "Inter": rb":/fonts",
}


def linked_parts(content):
    """Returns the names of the parts whose marks a program contains."""
    return {name for name, mark in MARKS.items() if re.search(mark, content)}


def check_files(bill, files):
    """Returns one sentence per file that the bill does not list, or lists with another hash."""
    own = bill["packages"][0]
    left_out = {name[2:] for name in own["packageVerificationCode"]["packageVerificationCodeExcludedFiles"]}
    listed = {file["fileName"][2:]: file for file in bill["files"]}
    problems = [f"{name} is not in the package" for name in sorted(set(listed) - set(files))]
    for name in sorted(set(files) - left_out):
        if name not in listed:
            problems.append(f"{name} is not listed")
            continue
        hashes = {one["algorithm"]: one["checksumValue"] for one in listed[name]["checksums"]}
        if hashes["SHA256"] != hashlib.sha256(files[name]).hexdigest():
            problems.append(f"{name} has another hash")
    if own["hasFiles"] != [file["SPDXID"] for file in bill["files"]]:
        problems.append("the package does not have every file of the document")
    return problems


def machine_paths(content, *folders):
    """Returns paths of the building machine that a program contains. `folders` are those of the build."""
    places = [re.escape(str(folder).encode()) + rb"/" for folder in folders] + [rb"/home/[a-z]", rb"/root/", rb"/tmp/[a-z]+/"]
    return [found.decode() for found in re.findall(rb"(?:%s)[\x20-\x7e]*" % b"|".join(places), content)]
