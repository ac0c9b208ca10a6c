# SPDX-License-Identifier: Apache-2.0
"""The hashes of a tensor's contiguous elements that traces/format/core/hash.h defines. Both are sums of integers, so
every device computes the same value. gridsum64 needs two passes over the elements. dotsum64 is the sum of the hashes of
parts."""

import threading

import torch

HASH, HASH_OF_PARTS = "gridsum64", "dotsum64"
_ROW = 1021  # words per row: a prime, so that repeated words fall into different columns
_FEW_WORDS = 8192
_BLOCK = 1 << 14  # words per block: the working memory of one block fits into a CPU's cache
_BLOCKS_AT_ONCE = 1 << 8  # on other devices, where reading a number waits for queued work
_MOST_LAYOUTS = 64
_MOST = (1 << 64) - 1
_M2, _M3, _M4 = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0xD6E8FEB86659FD93


def _signed(value):
    return value - (1 << 64) if value >= 1 << 63 else value


def _factor(number):
    """Returns the odd factor of this number."""
    x = (number + 1) * _M2 & _MOST
    x = (x ^ x >> 32) * _M3 & _MOST
    return (x ^ x >> 29) | 1


def _block_factor(block):
    return _factor((1 << 32) + block)


class _Room(threading.local):
    """The working memory of hashing, per device. It is kept, because allocating it takes longer than using it."""

    def __init__(self):
        self._made = {}
        self._layouts = {}

    def of(self, device):
        """Returns the factors of a block's words and of their upper halves, and working memory of that size."""
        if device not in self._made:
            n = torch.arange(1, 2 * _BLOCK + 1, device=device) * _signed(_M2)
            n = (n ^ (n >> 32 & 0xFFFFFFFF)) * _signed(_M3)
            words, halves = ((n ^ (n >> 29 & (1 << 35) - 1)) | 1).split(_BLOCK)
            self._made[device] = words, halves, torch.empty_like(words)
        return self._made[device]

    def layout(self, device, counts):
        """Returns, for several consecutive tensors of `counts` words, the factors of the words and of their upper
        halves, and the index of each tensor's last word."""
        key = (device, counts)
        if key not in self._layouts:
            if len(self._layouts) >= _MOST_LAYOUTS:
                self._layouts.clear()
            of_words, of_halves, _ = self.of(device)
            last = torch.tensor(counts, device=device).cumsum(0) - 1
            parts = ([factors[:count] for count in counts] for factors in (of_words, of_halves))
            self._layouts[key] = (*map(torch.cat, parts), last)
        return self._layouts[key]


_room = _Room()


def gridsum64(tensor):
    """Returns an unsigned integer that is equal for equal contents, whatever their types and shapes."""
    words, rest = _words(tensor.detach().contiguous().view(-1), 0)
    if words.numel() > _FEW_WORDS:
        words = torch.cat(_grid(words))
    return (_sum(words, rest, 0) + tensor.numel() * tensor.element_size() * _M4) & _MOST


def gridsums64(tensors):
    """Returns gridsum64() of several one-dimensional tensors on one device."""
    counts, pieces, ends = [], [], []
    for tensor in tensors:
        words, rest = _words(tensor, 0)
        grid = _grid(words)
        pieces += grid
        counts.append(sum(piece.numel() for piece in grid))
        ends.append(rest)
    if not all(0 < count <= _BLOCK for count in counts):
        return [gridsum64(tensor) for tensor in tensors]
    words = torch.cat(pieces)
    of_words, of_halves, last = _room.layout(words.device, tuple(counts))
    sums = torch.bitwise_right_shift(words, 32).mul_(of_halves).addcmul_(words, of_words).cumsum(0)
    totals = [0, *sums[last].tolist()]
    found = []
    for at, (tensor, rest) in enumerate(zip(tensors, ends)):
        total = (totals[at + 1] - totals[at]) * _block_factor(0) + _of_rest(rest, counts[at])
        found.append((total + tensor.numel() * tensor.element_size() * _M4) & _MOST)
    return found


def _grid(words):
    """Returns the words that are hashed in place of these: for many words, sums of rows and columns."""
    count = words.numel()
    if count <= _FEW_WORDS:
        return [words]
    whole = count // _ROW * _ROW
    rows = words[:whole].view(-1, _ROW)
    return [rows.sum(1), rows.sum(0), words[whole:]]


def dotsum64(tensor):
    """Returns an unsigned integer that is equal for equal contents. Slower than gridsum64()."""
    return (dotsum64_of_part(tensor, 0) + tensor.numel() * tensor.element_size() * _M4) & _MOST


def dotsum64_of_part(tensor, first):
    """Returns the summand of a part in the hash of the whole tensor. The part begins `first` bytes after the whole's
    beginning; `first` is a multiple of 4. The summand of the size in bytes must be added once."""
    words, rest = _words(tensor.detach().contiguous().view(-1), first % 8)
    return _sum(words, rest, first // 8) & _MOST


def _sum(words, rest, at):
    """Returns the sum of words that begin at word `at` of the whole, and of the bytes of an incomplete last word."""
    sums = _sums_on_cpu if words.device.type == "cpu" else _sums
    total = sum(value * _block_factor(block) for block, value in sums(words, at))
    return total + _of_rest(rest, at + words.numel())


def _of_rest(rest, at):
    """Returns the summand of an incomplete last word."""
    if not rest:
        return 0
    offset, block = at % _BLOCK, at // _BLOCK
    word = int.from_bytes(rest, "little", signed=True)
    value = word * _factor(offset) + (word >> 32) * _factor(_BLOCK + offset)
    return value * _block_factor(block)


def _words(data, zeros):
    """Returns the elements as words of 8 bytes, after `zeros` bytes of zeros, and the bytes of an incomplete last
    word."""
    if zeros:
        data = torch.cat([data.new_zeros(zeros // data.element_size()), data])
    elif data.storage_offset() * data.element_size() % 8:
        data = data.clone()
    size = data.numel() * data.element_size()
    if size % 8 == 0:
        return data.view(torch.int64), b""
    whole = size // 8 * 8
    data = data.view(torch.uint8)
    rest = bytes(data[whole:].tolist())
    return data[:whole].view(torch.int64), rest + bytes(8 - len(rest))


def _sums_on_cpu(words, at):
    """Yields (block, weighted sum of its words and their upper halves). `words` begin at word `at` of the whole."""
    of_words, of_halves, room = _room.of(words.device)
    begin, count = 0, words.numel()
    while begin < count:
        offset = (at + begin) % _BLOCK
        size = min(count - begin, _BLOCK - offset)
        some, halves = words[begin : begin + size], room[:size]
        factors, others = of_words[offset : offset + size], of_halves[offset : offset + size]
        torch.bitwise_right_shift(some, 32, out=halves)
        value = torch.dot(some, factors).item() + torch.dot(halves, others).item()
        yield (at + begin) // _BLOCK, value
        begin += size


def _sums(words, at):
    """Yields the same values as _sums_on_cpu(), but computes many blocks at once."""
    of_words, of_halves, _ = _room.of(words.device)
    before = at % _BLOCK
    after = -(before + words.numel()) % _BLOCK
    if before or after:
        words = torch.cat([words.new_zeros(before), words, words.new_zeros(after)])
    first = at // _BLOCK
    for some in words.view(-1, _BLOCK).split(_BLOCKS_AT_ONCE):
        values = (some * of_words).sum(1) + ((some >> 32) * of_halves).sum(1)
        yield from enumerate(values.tolist(), first)
        first += len(some)
