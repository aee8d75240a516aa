# Copyright 2026 The vr_ik authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""
Lays out messages in plain little endian CDR once, for their numbers to be written again and again.

Every number is aligned to its size, counted from the start of the body, which four bytes come
before that name the encoding. A string is its length with the final zero, then its bytes.
"""

import struct

import numpy as np
from numpy.typing import NDArray

from vr_ik.io.tf_cdr import CDR_LITTLE_ENDIAN
from vr_ik.types import Array

_ENCAPSULATION = CDR_LITTLE_ENDIAN + b'\x00\x00'


class CdrMessage:
    """The bytes of a message, and the same memory as numbers to write to."""

    def __init__(self, body: bytes) -> None:
        """Copy the body to where its numbers are aligned in memory, too."""
        first = 8 - len(_ENCAPSULATION)
        memory = np.zeros(1 + (len(body) + 7) // 8)
        self._bytes = memory.view(np.uint8)[first : 8 + len(body)]
        self._bytes[:] = np.frombuffer(_ENCAPSULATION + body, np.uint8)
        self.doubles: Array = memory[1:].view('<f8')
        """The body as float64: index = offset / 8."""
        self.ints: NDArray[np.int32] = self.doubles.view('<i4')
        """The body as int32: index = offset / 4."""

    def stamp(self, at: int, stamp_ns: int) -> None:
        """Write seconds and nanoseconds at an index of `ints`."""
        self.ints[at], self.ints[at + 1] = divmod(stamp_ns, 1_000_000_000)

    def bytes(self) -> bytes:
        """Return a copy of the message, its encoding included."""
        return self._bytes.tobytes()


class CdrBody:
    """A message's body as it grows."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._body = bytearray()

    def reserve(self, size: int, alignment: int) -> int:
        """Add `size` bytes of zeros, aligned, and return where they are."""
        self._body += bytes(-len(self._body) % alignment)
        at = len(self._body)
        self._body += bytes(size)
        return at

    def add_uint32(self, value: int) -> None:
        """Add a number, such as the length of a sequence."""
        struct.pack_into('<I', self._body, self.reserve(4, 4), value)

    def add_string(self, text: str) -> None:
        """Add a string."""
        encoded = text.encode() + b'\x00'
        self.add_uint32(len(encoded))
        self._body += encoded

    def message(self) -> CdrMessage:
        """Return the message."""
        return CdrMessage(bytes(self._body))
