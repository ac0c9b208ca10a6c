# SPDX-License-Identifier: Apache-2.0
"""Writes wheels whose bytes depend only on their contents and on SOURCE_DATE_EPOCH."""

import base64
import hashlib
import time
import zipfile

EARLIEST = 315532800  # 1980-01-01, the first date that a zip archive can hold


class Wheel:
    """One wheel: files, and metadata that is made from its fields."""

    def __init__(self, name, version, tag, epoch):
        self.name = name.replace("-", "_")
        self.version = version
        self.tag = tag
        self.date = time.gmtime(max(int(epoch), EARLIEST))[:6]
        self.files = {}  # path -> (content, mode)
        self.dist_info = f"{self.name}-{version}.dist-info"
        self.data = f"{self.name}-{version}.data"

    def add(self, path, content, executable=False):
        """Adds a file. Raises ValueError for a path that the wheel already has."""
        if path in self.files:
            raise ValueError(f"{self.name}: {path} is added twice")
        text = content.encode() if isinstance(content, str) else content
        self.files[path] = (text, 0o755 if executable else 0o644)

    def add_metadata(self, headers, description=""):
        """Adds METADATA and WHEEL. `headers` is a list of (name, value) after name and version."""
        lines = ["Metadata-Version: 2.4", f"Name: {self.name.replace('_', '-')}", f"Version: {self.version}"]
        lines += [f"{name}: {value}" for name, value in headers]
        self.add(f"{self.dist_info}/METADATA", "\n".join(lines) + "\n\n" + description)
        self.add(
            f"{self.dist_info}/WHEEL",
            f"Wheel-Version: 1.0\nGenerator: ringscope\nRoot-Is-Purelib: false\nTag: {self.tag}\n",
        )

    def file_name(self):
        return f"{self.name}-{self.version}-{self.tag}.whl"

    def record(self):
        """Returns the text of RECORD: path, hash and size of every file."""
        rows = []
        for path in sorted(self.files):
            content = self.files[path][0]
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            rows.append(f"{path},sha256={digest},{len(content)}")
        return "\n".join([*rows, f"{self.dist_info}/RECORD,,"]) + "\n"

    def write(self, folder):
        """Writes the wheel into a folder and returns its path. The metadata comes last, as the specification asks."""
        files = {**self.files, f"{self.dist_info}/RECORD": (self.record().encode(), 0o644)}
        path = folder / self.file_name()
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for name in sorted(files, key=lambda name: (name.startswith(self.dist_info), name)):
                content, mode = files[name]
                entry = zipfile.ZipInfo(name, self.date)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.create_system = 3  # Unix, so that the mode counts
                entry.external_attr = (0o100000 | mode) << 16
                archive.writestr(entry, content)
        return path
