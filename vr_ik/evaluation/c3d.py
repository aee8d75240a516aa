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

"""Reads the markers of a C3D file: names, positions and frame rate; nothing else of it.

The format is described at c3d.org: blocks of 512 bytes; a header, parameters in groups, then the
frames. Only what motion capture systems on PCs write is understood: little-endian numbers, with
positions as floats or as scaled integers.
"""

from dataclasses import dataclass
from pathlib import Path
import struct

import numpy as np

from vr_ik.errors import VrIkError
from vr_ik.types import Array

_BLOCK = 512
_MAGIC = 80
_INTEL = 84


@dataclass(frozen=True, eq=False)
class Markers:
    """Marker trajectories in the file's unit and axes."""

    names: tuple[str, ...]
    """Without the subject's prefix, such as 'Daniel:'."""
    positions: Array
    """(frames, markers, 3); NaN where a marker was not seen."""
    rate_hz: float


def read_c3d(path: Path) -> Markers:
    """Read all markers of a file."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise VrIkError(f"Cannot read '{path}': {error}.") from None
    try:
        return _markers(content)
    except (struct.error, ValueError, IndexError, KeyError) as error:
        raise VrIkError(f"'{path}' is not a C3D file that can be read here: {error}.") from None


def _markers(content: bytes) -> Markers:
    if len(content) < _BLOCK or content[1] != _MAGIC:
        raise ValueError('it does not begin with a C3D header')
    _, points, analog, first, last = struct.unpack_from('<HHHHH', content)
    scale, start, _, rate_hz = struct.unpack_from('<fHHf', content, 12)
    names = _labels(content)[:points]
    number = np.dtype('<f4') if scale < 0.0 else np.dtype('<i2')
    width = 4 * points + analog
    frames = np.frombuffer(
        content, number, (last - first + 1) * width, (start - 1) * _BLOCK
    ).reshape(-1, width)
    samples = frames[:, : 4 * points].reshape(-1, points, 4).astype(np.float64)
    positions = samples[:, :, :3] * (1.0 if scale < 0.0 else scale)
    # The fourth value is negative for a marker that was not seen.
    positions[samples[:, :, 3] < 0.0] = np.nan
    return Markers(tuple(name.split(':')[-1] for name in names), positions, rate_hz)


def _labels(content: bytes) -> list[str]:
    """Return the parameter POINT:LABELS."""
    at = (content[0] - 1) * _BLOCK
    if content[at + 3] != _INTEL:
        raise ValueError('its numbers are not little-endian')
    at += 4
    groups: dict[int, str] = {}
    while content[at] != 0:
        # A locked name has a negative length; a group a negative number.
        length, group = abs(struct.unpack_from('b', content, at)[0]), content[at + 1]
        signed = group - 256 if group > 127 else group
        name = content[at + 2 : at + 2 + length].decode('ascii').upper()
        at += 2 + length
        (to_next,) = struct.unpack_from('<H', content, at)
        if signed < 0:
            groups[-signed] = name
        elif name == 'LABELS' and groups.get(signed) == 'POINT':
            width, count = content[at + 4], content[at + 5]
            text = content[at + 6 : at + 6 + width * count].decode('latin-1')
            return [text[i : i + width].strip() for i in range(0, len(text), width)]
        if to_next == 0:
            break
        at += to_next
    raise KeyError('it has no parameter POINT:LABELS')
