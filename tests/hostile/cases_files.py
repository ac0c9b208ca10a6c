# SPDX-License-Identifier: Apache-2.0
"""Files that are no traces, and traces that are truncated, flipped, of another schema or beside
strange files.
"""
import os
import random
import sqlite3
import struct

KINDS = 14


def changed(sample, **attributes):
    recording = sample.copy()
    for name, value in attributes.items():
        setattr(recording, name, value)
    return lambda folder: recording.write(folder / "case.rscope")


def turned(sample, turn, **attributes):
    return changed(sample, turn_chunks=turn, **attributes)


def identity(table, sample):
    for version in (-1, 0, 1, 2, 3, 5, 2**31 - 1):
        yield f"version {version}", changed(sample, version=version)
    for number in (0, 1, 0x52534351, 0x50435352):
        yield f"application {number:x}", changed(sample, application_id=number)
    chunk, index, sealed = table.schema
    for name, tables in (("no tables", ()), ("no sealed", (chunk, index)), ("no chunk", (sealed,)),
                         ("no index", (chunk, sealed)), ("other columns", (chunk.replace("rank INTEGER NOT NULL, ", ""), index, sealed)),
                         ("column more", (chunk[:-1] + ", more)", index, sealed)),
                         ("generated column", (chunk[:-1] + ", g AS (seq + 1))", index, sealed)),
                         ("without rowid", (chunk + " WITHOUT ROWID", index, sealed)),
                         ("lower case", (chunk.lower(), index, sealed)),
                         ("default", (chunk.replace("rank INTEGER NOT NULL", "rank INTEGER NOT NULL DEFAULT (abs(-9223372036854775808))"), index, sealed))):
        yield f"schema {name}", changed(sample, tables=tables)
    for name, sql in (("table", "CREATE TABLE other(x)"), ("view", "CREATE VIEW v AS SELECT * FROM chunk"),
                      ("index", "CREATE INDEX other ON chunk(seq)"),
                      ("trigger", "CREATE TRIGGER t AFTER INSERT ON chunk BEGIN DELETE FROM chunk; END"),
                      ("endless view", "CREATE VIEW v AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT x FROM c"),
                      ("expression index", "CREATE INDEX e ON chunk(abs(seq))"),
                      ("partial index", "CREATE INDEX p ON chunk(seq) WHERE kind = 1"),
                      ("statistics", "ANALYZE"), ("auto vacuum", "CREATE TABLE z(a INTEGER PRIMARY KEY AUTOINCREMENT)")):
        yield f"with {name}", changed(sample, extra_sql=[sql])
    for name, sql in (("view for a table", "UPDATE sqlite_schema SET sql='CREATE VIEW chunk AS SELECT 1', type='view' WHERE name='chunk'"),
                      ("root 0", "UPDATE sqlite_schema SET rootpage=0 WHERE name='chunk'"),
                      ("root 1", "UPDATE sqlite_schema SET rootpage=1 WHERE name='chunk'"),
                      ("root far", "UPDATE sqlite_schema SET rootpage=999999 WHERE name='chunk'"),
                      ("roots turned", "UPDATE sqlite_schema SET rootpage=7-rootpage WHERE name<>'sealed'"),
                      ("sql null", "UPDATE sqlite_schema SET sql=NULL WHERE name='sealed'"),
                      ("sql blob", "UPDATE sqlite_schema SET sql=x'00ff' WHERE name='chunk'"),
                      ("name twice", "UPDATE sqlite_schema SET name='chunk'"),
                      ("sql long", "UPDATE sqlite_schema SET sql=hex(zeroblob(500000)) WHERE name='sealed'")):
        yield f"schema {name}", changed(sample, extra_sql=["PRAGMA writable_schema=ON", sql])


def cells(table, sample):
    """Yields rows of the table with values that no chunk has: SQLite stores any type in any column.
    """
    for column in ("kind", "rank", "key", "rows", "checksum", "body"):
        for name, value in (("-1", "-1"), ("2^63-1", "9223372036854775807"), ("-2^63", "-9223372036854775808"),
                            ("text", "'x'"), ("real", "1e300"), ("blob", "x'00ff'"), ("empty", "x''"),
                            ("big", "zeroblob(3000000)")):
            yield f"cell {column} {name}", changed(sample, extra_sql=[
                f"UPDATE chunk SET {column}={value} WHERE seq=(SELECT max(seq) FROM chunk WHERE kind=0)"])
    for name, sql in (("all of kind 2", "UPDATE chunk SET kind=2"), ("all of no kind", "UPDATE chunk SET kind=14"),
                      ("rows 2^32", "UPDATE chunk SET rows=4294967295"), ("no chunks", "DELETE FROM chunk"),
                      ("far", "UPDATE chunk SET seq=seq+9000000000000000000"), ("turned", "UPDATE chunk SET seq=-seq"),
                      ("gaps", "UPDATE chunk SET seq=seq*100000"), ("no events", "DELETE FROM chunk WHERE kind=0"),
                      ("sealed", "INSERT INTO sealed VALUES(1,0,x'ff')"), ("bodies gone", "UPDATE chunk SET body=x''")):
        yield f"rows {name}", changed(sample, extra_sql=[sql])


def chunks(table, sample):
    """Yields chunks whose checksum is right and whose header is wrong."""
    def each(name, turn):
        def go(chunks, kind):
            for chunk in chunks:
                if chunk.kind == kind:
                    turn(chunk)
                    chunk.checksum = chunk.computed()
        for kind in range(KINDS):
            yield f"{name} {kind}", turned(sample, lambda chunks, kind=kind: go(chunks, kind))
    yield from each("no rows of", lambda c: setattr(c, "rows", 0))
    yield from each("2^32 rows of", lambda c: setattr(c, "rows", 2**32 - 1))
    yield from each("empty bodies of", lambda c: setattr(c, "body", b""))
    yield from each("half bodies of", lambda c: setattr(c, "body", c.body[:len(c.body) // 2]))
    yield from each("longer bodies of", lambda c: setattr(c, "body", c.body + b"\x01"))
    yield from each("all ones in", lambda c: setattr(c, "body", b"\xff" * len(c.body)))
    yield from each("zeros in", lambda c: setattr(c, "body", b"\x00" * len(c.body)))
    yield from each("rank of", lambda c: setattr(c, "rank", 32767))
    yield from each("next kind for", lambda c: setattr(c, "kind", (c.kind + 1) % KINDS))
    yield from each("values for", lambda c: setattr(c, "kind", 2))
    yield from each("none of", lambda c: setattr(c, "kind", 13))


def bytes_of(table, sample, scratch=[]):
    def content(folder):
        if not scratch:
            sample.copy().write(folder / "case.rscope")
            scratch.append((folder / "case.rscope").read_bytes())
            os.remove(folder / "case.rscope")
        return scratch[0]

    def case(turn):
        return lambda folder: (folder / "case.rscope").write_bytes(turn(content(folder)))
    for size in (0, 1, 15, 16, 17, 67, 99, 100, 101, 127, 128, 512, 1023, 1024, 1025, 2048, 5000, 9999, 15000):
        yield f"cut at {size}", case(lambda b, size=size: b[:size])
    yield "cut by one", case(lambda b: b[:-1])
    yield "longer", case(lambda b: b + b"\x00" * 5000)
    yield "twice", case(lambda b: b + b)
    for at, size, name in ((16, 2, "page size"), (18, 1, "write version"), (19, 1, "read version"), (20, 1, "reserved"),
                           (28, 4, "pages"), (32, 4, "free list"), (36, 4, "free pages"), (44, 4, "schema format"),
                           (52, 4, "largest root"), (56, 4, "encoding"), (64, 4, "vacuum"), (92, 4, "valid for"), (96, 4, "library")):
        for value in (0, 1, 2, 0xFF):
            yield f"header {name} {value}", case(
                lambda b, at=at, size=size, value=value: b[:at] + bytes([value] * size) + b[at + size:])
    chance = random.Random(15)
    for i in range(60):
        flips = 1 << (i % 6)
        def flipped(b, seed=chance.randrange(10**9), flips=flips):
            dice, b = random.Random(seed), bytearray(b)
            for _ in range(flips):
                at = dice.randrange(100, len(b))
                b[at] ^= 1 << dice.randrange(8)
            return bytes(b)
        yield f"flip {i}", case(flipped)
    for i in range(20):
        def swapped(b, seed=i):
            dice, pages = random.Random(seed), [b[at:at + 1024] for at in range(0, len(b), 1024)]
            x, y = dice.randrange(1, len(pages)), dice.randrange(1, len(pages))
            pages[x], pages[y] = pages[y], pages[x]
            return b"".join(pages)
        yield f"pages swapped {i}", case(swapped)
    for name, data in (("text", b"hello\n"), ("zip", b"PK\x03\x04" + bytes(200)), ("zeros", bytes(4096)), ("empty", b""),
                       ("only a header", b"SQLite format 3\0" + bytes(52) + b"PCSR"), ("random", random.Random(1).randbytes(9000))):
        yield f"content {name}", lambda folder, data=data: (folder / "case.rscope").write_bytes(data)


def journal(target, pages=0):
    name = str(target).encode()
    head = bytes.fromhex("d9d505f920a163d7") + struct.pack(">IIIII", pages, 1, 9, 512, 1024)
    body = head + bytes(512 - len(head))
    total = sum(name) & 0xFFFFFFFF
    return body + struct.pack(">I", 1) + name + struct.pack(">II", len(name), total) + head[:8]


def company(table, sample):
    def beside(make):
        def go(folder):
            sample.copy().write(folder / "case.rscope")
            (folder / "precious.txt").write_text("mine")
            make(folder)
        return go
    garbage = random.Random(3).randbytes(4000)
    for suffix in ("-journal", "-wal", "-shm"):
        for name, data in (("empty", b""), ("garbage", garbage), ("zeros", bytes(5000))):
            yield f"beside {suffix} {name}", beside(
                lambda folder, s=suffix, d=data: (folder / f"case.rscope{s}").write_bytes(d))
        yield f"beside {suffix} pipe", beside(lambda folder, s=suffix: os.mkfifo(folder / f"case.rscope{s}"))
        yield f"beside {suffix} link", beside(
            lambda folder, s=suffix: os.symlink(folder / "precious.txt", folder / f"case.rscope{s}"))
        yield f"beside {suffix} folder", beside(lambda folder, s=suffix: os.mkdir(folder / f"case.rscope{s}"))
    for pages in (0, 1, 0xFFFFFFFF):
        yield f"super-journal {pages}", beside(lambda folder, p=pages: (folder / "case.rscope-journal").write_bytes(
            journal(folder / "precious.txt", p)))
    yield "wal and shm of garbage", beside(lambda folder: [(folder / f"case.rscope{s}").write_bytes(garbage)
                                                           for s in ("-wal", "-shm")])
    yield "wal mode", changed(sample, extra_sql=["COMMIT", "PRAGMA journal_mode=WAL", "BEGIN"])
    yield "left with a wal", beside(leave_wal)
    for name, make in (("pipe", os.mkfifo), ("folder", os.mkdir), ("missing", lambda path: None),
                       ("link to nothing", lambda path: os.symlink("nowhere", path)),
                       ("link to itself", lambda path: os.symlink(path, path)),
                       ("link to /dev/zero", lambda path: os.symlink("/dev/zero", path)),
                       ("huge hole", lambda path: (path.touch(), os.truncate(path, 30 * 2**30)))):
        if name != "huge hole":
            yield f"case is a {name}", lambda folder, make=make: make(folder / "case.rscope")
    yield "trace with a huge hole", lambda folder: (sample.copy().write(folder / "case.rscope"),
                                                    os.truncate(folder / "case.rscope", 2**26))


def leave_wal(folder):
    path = folder / "case.rscope"
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("DELETE FROM chunk WHERE kind=5")
    wal = (folder / "case.rscope-wal").read_bytes()
    main = path.read_bytes()
    db.close()
    path.write_bytes(main)
    (folder / "case.rscope-wal").write_bytes(wal[:-10])


def cases(table, sample):
    for part in (identity, cells, chunks, bytes_of, company):
        yield from part(table, sample)
