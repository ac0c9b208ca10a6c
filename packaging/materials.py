# SPDX-License-Identifier: Apache-2.0
"""Writes bills of materials (SPDX 2.3, JSON): everything inside a package, with its licence."""

import hashlib
import json
import re
import subprocess
from typing import NamedTuple

PUBLIC_DOMAIN = "LicenseRef-public-domain"
# Licences of the Debian source packages whose libraries RingScope's archive copies.
LIBRARY_LICENCES = {
    "brotli": "MIT",
    "dbus": "AFL-2.1 OR GPL-2.0-or-later",
    "double-conversion": "BSD-3-Clause",
    "expat": "MIT",
    "fontconfig": "MIT",
    "freetype": "FTL OR GPL-2.0-or-later",
    "gcc": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "glib2.0": "LGPL-2.1-or-later",
    "graphite2": "LGPL-2.1-or-later OR MPL-1.1",
    "harfbuzz": "MIT-Modern-Variant",
    "icu": "Unicode-DFS-2016",
    "libb2": "CC0-1.0",
    "libbsd": "BSD-3-Clause",
    "libcap2": "BSD-3-Clause OR GPL-2.0-only",
    "libffi": "MIT",
    "libgcrypt20": "LGPL-2.1-or-later",
    "libglvnd": "MIT",
    "libgpg-error": "LGPL-2.1-or-later",
    "libice": "MIT",
    "libmd": "BSD-2-Clause AND BSD-3-Clause",
    "libpng1.6": "libpng-2.0",
    "libsm": "MIT",
    "libx11": "MIT",
    "libxau": "MIT",
    "libxcb": "MIT",
    "libxdmcp": "MIT",
    "libxkbcommon": "MIT",
    "libzstd": "BSD-3-Clause OR GPL-2.0-only",
    "lz4": "BSD-2-Clause",
    "md4c": "MIT",
    "pcre2": "BSD-3-Clause",
    "qt6-base": "LGPL-3.0-only OR GPL-2.0-only OR GPL-3.0-only",
    "qt6-charts": "GPL-3.0-only",
    "qt6-wayland": "LGPL-3.0-only OR GPL-2.0-only OR GPL-3.0-only",
    "sqlite3": "blessing",
    "systemd": "LGPL-2.1-or-later",
    "util-linux": "BSD-3-Clause",
    "wayland": "MIT",
    "xcb-util": "MIT",
    "xcb-util-cursor": "MIT",
    "xcb-util-image": "MIT",
    "xcb-util-keysyms": "MIT",
    "xcb-util-renderutil": "MIT",
    "xcb-util-wm": "MIT",
    "xz-utils": PUBLIC_DOMAIN,
    "zlib": "Zlib",
}


class Part(NamedTuple):
    """Software or data of others inside a package."""

    name: str
    licence: str
    debian: str = ""  # the Debian package that it comes from
    version: str = ""


class File(NamedTuple):
    """One file of a package."""

    content: bytes
    licence: str = "NOASSERTION"


# The parts of RingScope's programs. Each has the Debian package that documents its licence.
READING_PARTS = [
    Part("SQLite", "blessing", "libsqlite3-dev"),
    Part("zlib", "Zlib", "zlib1g-dev"),
    Part("xxHash", "BSD-2-Clause", "libxxhash-dev"),
    Part("nlohmann-json", "MIT", "nlohmann-json3-dev"),
]
COMMAND_LINE_PARTS = [*READING_PARTS, Part("CLI11", "BSD-3-Clause", "libcli11-dev")]
LLVM = "Apache-2.0 WITH LLVM-exception"
ZIG_PARTS = [Part(name, LLVM) for name in ("libc++", "libc++abi", "libunwind")]
FONT_PARTS = [Part("Inter", "OFL-1.1", "fonts-inter"), Part("JetBrains-Mono", "OFL-1.1", "fonts-jetbrains-mono")]
GCC_PARTS = [Part("libstdc++", LIBRARY_LICENCES["gcc"], "libstdc++-12-dev")]
WINDOW_PARTS = [*READING_PARTS, *GCC_PARTS, *FONT_PARTS]
ENGINE_PARTS = [
    *COMMAND_LINE_PARTS,
    Part("SentencePiece", "Apache-2.0", "libsentencepiece-dev"),
    Part("Gloo", "BSD-3-Clause", "libgloo-dev"),
]
# The Debian package links SQLite, zlib and the C++ library from other packages.
DEBIAN_PARTS = [part for part in COMMAND_LINE_PARTS if part.name not in ("SQLite", "zlib")] + FONT_PARTS


def debian_field(package, field):
    """Returns a field of an installed Debian package, or an empty string."""
    command = ["dpkg-query", "-W", "-f", f"${{{field}}}", package]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except FileNotFoundError:
        return ""


def identify(name):
    """Returns the name as an identifier of an SPDX document."""
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name.replace("+", "p"))


def describe_part(part):
    """Returns a part as an SPDX package."""
    package = {
        "SPDXID": identify(part.name),
        "name": part.name,
        "versionInfo": part.version or (debian_field(part.debian, "Version") if part.debian else "") or "unknown",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": part.licence,
    }
    if part.debian:
        locator = f"pkg:deb/debian/{part.debian}@{package['versionInfo']}"
        reference = {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": locator}
        package["externalRefs"] = [reference]
    return package


def describe_file(path, file):
    """Returns a file as an SPDX file with its hashes."""
    return {
        "SPDXID": f"SPDXRef-File-{hashlib.sha1(path.encode()).hexdigest()[:16]}",
        "fileName": f"./{path}",
        "checksums": [
            {"algorithm": "SHA1", "checksumValue": hashlib.sha1(file.content).hexdigest()},
            {"algorithm": "SHA256", "checksumValue": hashlib.sha256(file.content).hexdigest()},
        ],
        "licenseConcluded": file.licence,
        "licenseInfoInFiles": [file.licence],
    }


def bill_of_materials(own, parts, files, created, left_out=()):
    """Returns the SPDX document of a package.

    The Part `own` is the package itself, and `files` has a File per path. The date `created` is written as in
    2026-01-31T12:00:00Z. The document cannot contain hashes of the files in `left_out`.
    """
    listed = [describe_file(path, file) for path, file in sorted(files.items())]
    sums = sorted(file["checksums"][0]["checksumValue"] for file in listed)
    code = {"packageVerificationCodeValue": hashlib.sha1("".join(sums).encode()).hexdigest()}
    code["packageVerificationCodeExcludedFiles"] = [f"./{path}" for path in left_out]
    package = describe_part(own) | {"filesAnalyzed": True, "packageVerificationCode": code}
    package["hasFiles"] = [file["SPDXID"] for file in listed]
    described = [describe_part(part) for part in parts]
    contained = [
        {"spdxElementId": package["SPDXID"], "relationshipType": "CONTAINS", "relatedSpdxElement": part["SPDXID"]}
        for part in described
    ]
    describes = {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES"}
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"{own.name}-{own.version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/{own.name}-{own.version}-{code['packageVerificationCodeValue']}",
        "creationInfo": {"created": created, "creators": ["Tool: ringscope-package"]},
        "packages": [package, *described],
        "files": listed,
        "relationships": [{**describes, "relatedSpdxElement": package["SPDXID"]}, *contained],
    }
    if any(PUBLIC_DOMAIN in part.licence for part in parts):
        text = {"licenseId": PUBLIC_DOMAIN, "extractedText": "The authors put this software into the public domain."}
        document["hasExtractedLicensingInfos"] = [text]
    return json.dumps(document, indent=1) + "\n"
