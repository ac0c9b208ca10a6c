# SPDX-License-Identifier: Apache-2.0
"""XXH3-64 with a seed, implemented from its specification (xxhash_spec), so that no library is
needed.
"""
import struct
from functools import lru_cache

M32 = (1 << 32) - 1
M64 = (1 << 64) - 1
P32_1, P32_2, P32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
P64_1, P64_2, P64_3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
P64_4, P64_5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
MIX_1, MIX_2 = 0x165667919E3779F9, 0x9FB21C651E98DF25
SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e")


def u32(data, at):
    return struct.unpack_from("<I", data, at)[0]


def u64(data, at):
    return struct.unpack_from("<Q", data, at)[0]


def fold(a, b):
    product = a * b
    return (product & M64) ^ (product >> 64)


def avalanche(h):
    h ^= h >> 37
    h = h * MIX_1 & M64
    return h ^ h >> 32


def avalanche64(h):
    h = (h ^ h >> 33) * P64_2 & M64
    h = (h ^ h >> 29) * P64_3 & M64
    return h ^ h >> 32


def swap(value, size):
    return int.from_bytes(value.to_bytes(size, "little"), "big")


def rotate(value, bits):
    return (value << bits | value >> (64 - bits)) & M64


def short(data, seed):
    n = len(data)
    if n == 0:
        return avalanche64(seed ^ u64(SECRET, 56) ^ u64(SECRET, 64))
    if n <= 3:
        word = data[0] << 16 | data[n >> 1] << 24 | data[n - 1] | n << 8
        return avalanche64(word ^ ((u32(SECRET, 0) ^ u32(SECRET, 4)) + seed & M64))
    if n <= 8:
        seed ^= swap(seed & M32, 4) << 32
        key = (u64(SECRET, 8) ^ u64(SECRET, 16)) - seed & M64
        h = (u32(data, n - 4) + (u32(data, 0) << 32)) ^ key
        h ^= rotate(h, 49) ^ rotate(h, 24)
        h = h * MIX_2 & M64
        h ^= (h >> 35) + n
        h = h * MIX_2 & M64
        return h ^ h >> 28
    low = u64(data, 0) ^ ((u64(SECRET, 24) ^ u64(SECRET, 32)) + seed & M64)
    high = u64(data, n - 8) ^ ((u64(SECRET, 40) ^ u64(SECRET, 48)) - seed & M64)
    return avalanche(n + swap(low, 8) + high + fold(low, high) & M64)


def mix16(data, at, secret_at, seed):
    return fold(u64(data, at) ^ (u64(SECRET, secret_at) + seed & M64),
                u64(data, at + 8) ^ (u64(SECRET, secret_at + 8) - seed & M64))


def middle(data, seed):
    n = len(data)
    acc = n * P64_1
    if n <= 128:
        for i in reversed(range((n - 1) // 32 + 1)):
            acc += mix16(data, 16 * i, 32 * i, seed) + mix16(data, n - 16 * (i + 1), 32 * i + 16, seed)
        return avalanche(acc & M64)
    for i in range(8):
        acc += mix16(data, 16 * i, 16 * i, seed)
    acc = avalanche(acc & M64)
    for i in range(8, n // 16):
        acc += mix16(data, 16 * i, 16 * (i - 8) + 3, seed)
    acc += mix16(data, n - 16, 136 - 17, seed)
    return avalanche(acc & M64)


def accumulate(acc, data, at, keys):
    words = struct.unpack_from("<8Q", data, at)
    for lane in range(8):
        keyed = words[lane] ^ keys[lane]
        acc[lane ^ 1] = acc[lane ^ 1] + words[lane] & M64
        acc[lane] = acc[lane] + (keyed & M32) * (keyed >> 32) & M64


def long(data, seed):
    secret = b"".join(struct.pack("<QQ", u64(SECRET, i) + seed & M64, u64(SECRET, i + 8) - seed & M64)
                      for i in range(0, 192, 16))
    acc = [P32_3, P64_1, P64_2, P64_3, P64_4, P32_2, P64_5, P32_1]
    keys = [struct.unpack_from("<8Q", secret, 8 * i) for i in range(16)]
    scramble = struct.unpack_from("<8Q", secret, 128)
    stripes = (len(data) - 1) // 64
    for stripe in range(stripes):
        accumulate(acc, data, 64 * stripe, keys[stripe % 16])
        if stripe % 16 == 15:
            acc = [(a ^ a >> 47 ^ k) * P32_1 & M64 for a, k in zip(acc, scramble)]
    accumulate(acc, data, len(data) - 64, struct.unpack_from("<8Q", secret, 121))
    h = len(data) * P64_1
    for i in range(4):
        h += fold(acc[2 * i] ^ u64(secret, 11 + 16 * i), acc[2 * i + 1] ^ u64(secret, 19 + 16 * i))
    return avalanche(h & M64)


@lru_cache(maxsize=4096)
def xxh3_64(data, seed=0):
    if len(data) <= 16:
        return short(data, seed)
    return middle(data, seed) if len(data) <= 240 else long(data, seed)
