#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program without network and compilers. Usage: offline.py PATH PROGRAM [ARGUMENT]…

PATH replaces the variable of that name. In a network namespace of its own, only the loopback device is switched on.
"""

import fcntl
import os
import socket
import struct
import sys

SET_FLAGS, UP = 0x8914, 0x1  # SIOCSIFFLAGS, IFF_UP


def main():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, SET_FLAGS, struct.pack("16sh", b"lo", UP))
    os.environ["PATH"] = sys.argv[1]
    os.execv(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
