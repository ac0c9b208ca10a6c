# SPDX-License-Identifier: Apache-2.0
"""The hops of a hand-written ring, put together from its messages."""

from dataclasses import dataclass

from torch.multiprocessing.reductions import StorageWeakRef


def storage_of(tensor):
    """Returns a key that is equal for tensors that share memory, and never equal for memory that was reused."""
    return StorageWeakRef(tensor.untyped_storage())


@dataclass
class _Message:
    number: int
    sends: bool
    payload: str | None
    elements: int
    bytes: int
    peer: int
    group: str
    storage: StorageWeakRef
    posted_ns: int
    wait_ns: int | None = None
    end_ns: int | None = None


class Exchanges:
    """The messages of one annotated attention. One hop has as many elements as the call's k and v together, in any
    number of messages."""

    def __init__(self, elements):
        self._elements = max(elements, 1)
        self._messages = []

    def posted(self, line, tensor, payload, now):
        """Adds a message. `payload` is "kv" or "dkv" for a sent message, and None for a received one."""
        self._messages.append(
            _Message(
                line["number"],
                line["operator"] == "send",
                payload,
                tensor.numel(),
                tensor.numel() * tensor.element_size(),
                line["peer"],
                line["group"],
                storage_of(tensor),
                now,
            )
        )

    def waited(self, number, begin_ns, end_ns):
        for message in self._messages:
            if message.number == number:
                message.wait_ns, message.end_ns = begin_ns, end_ns

    def _ends(self):
        """Returns sent and received messages. A received message gets the payload of the message sent in the same
        turn."""
        sent = [message for message in self._messages if message.sends]
        received = [message for message in self._messages if not message.sends]
        for message, own in zip(received, sent):
            message.payload = own.payload
        return sent, received

    def arrived_as(self, tensor):
        """Returns the payload of the last message that was received into this memory, or None."""
        storage = storage_of(tensor)
        _, received = self._ends()
        return next((m.payload for m in reversed(received) if m.storage == storage), None)

    def hops(self, otherwise, end_ns):
        """Returns hops by payload and number, counted from 1. Messages received in excess of those sent have the
        payload `otherwise`. Messages without a wait end at `end_ns`."""
        sent, received = self._ends()
        for message in received[len(sent) :]:
            message.payload = otherwise
        hops = {}
        for messages in (sent, received):
            passed = {"kv": 0, "dkv": 0}
            for message in messages:
                hop = passed[message.payload] // self._elements + 1
                passed[message.payload] += message.elements
                hops.setdefault((message.payload, hop), []).append(message)
        return [self._hop(*key, hops[key], end_ns) for key in sorted(hops)]

    @staticmethod
    def _hop(payload, hop, messages, end_ns):
        sent = [message for message in messages if message.sends]
        received = [message for message in messages if not message.sends]
        end = max(end_ns if m.end_ns is None else m.end_ns for m in messages)
        return {
            "payload": payload,
            "hop": hop,
            "rotate": "p2p",
            "send_to": sent[0].peer if sent else None,
            "receive_from": received[0].peer if received else None,
            "group": messages[0].group,
            "bytes": sum(message.bytes for message in sent or received),
            "moved": True,
            "posted_ns": min(message.posted_ns for message in messages),
            "wait_ns": min(end if m.wait_ns is None else m.wait_ns for m in messages),
            "end_ns": end,
        }
