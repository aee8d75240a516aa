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
Reads MCAP files, also those that were cut off.

The reader of `rosbags` wants the index at the end of the file, which a recorder that was killed
has not written, and makes several Python objects a message. Here the records are walked from the
front (https://mcap.dev/spec): whatever is whole is read, and in about a microsecond a message.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
import mmap
from pathlib import Path
import struct
from typing import NamedTuple

from rosbags.interfaces import MessageDefinition, MessageDefinitionFormat
from rosbags.rosbag2.storage_mcap import decompress

from vr_ik.errors import VrIkError
from vr_ik.io.bag_topics import Messages, read_qos, Topic

_MAGIC = b'\x89MCAP0\r\n'
_FOOTER, _SCHEMA, _CHANNEL, _MESSAGE, _CHUNK = 0x02, 0x03, 0x04, 0x05, 0x06
_RECORD = struct.Struct('<BQ')
_MESSAGE_HEAD = struct.Struct('<HIQQ')
_CHUNK_HEAD = struct.Struct('<QQQII')
_FORMATS = {'ros2msg': MessageDefinitionFormat.MSG, 'ros2idl': MessageDefinitionFormat.IDL}
# Messages outside of chunks are read in runs of about this size.
_RUN_BYTES = 1 << 20

Buffer = bytes | memoryview


class _Schema(NamedTuple):
    name: str
    definition: MessageDefinition


@dataclass
class _Block:
    """A part of the file with messages in it: a chunk, or a run of messages outside of any."""

    first_ns: int
    start: int
    end: int
    compression: str = ''
    size: int = 0
    """Of the decompressed records."""
    crc: int = 0
    is_cut: bool = False


class McapFile:
    """The topics and messages of one file; `lost` says what of it could not be read."""

    def __init__(self, path: Path) -> None:
        """Find all blocks and topics; raise `VrIkError` for what is no MCAP file."""
        self.lost: list[str] = []
        self._path = path
        self._schemas: dict[int, _Schema] = {}
        self._channels: dict[int, Topic] = {}
        self._blocks: list[_Block] = []
        with path.open('rb') as file:
            if file.read(8) != _MAGIC:
                raise VrIkError(f"'{path}' is no MCAP file.")
            file.seek(0)
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._data = memoryview(self._map)
        if not self._find_blocks() or not self._channels:
            # The topics stand at the end of most files that are whole, or else in the chunks.
            for block in self._blocks:
                for _ in self._read(block):
                    pass
            self.lost = list(dict.fromkeys(self.lost))

    @property
    def topics(self) -> list[Topic]:
        """All topics, in the order of their numbers."""
        return [self._channels[number] for number in sorted(self._channels)]

    def close(self) -> None:
        """Let go of the file."""
        # After an error its traceback may have views of the file, which goes with them then.
        with suppress(BufferError):
            self._data.release()
            self._map.close()

    def messages(self) -> Messages:
        """Yield all messages in the order of their recording."""
        pending: list[tuple[Topic, int, bytes]] = []
        blocks = sorted(self._blocks, key=lambda block: block.first_ns)
        for i, block in enumerate(blocks):
            pending.extend(self._read(block))
            pending.sort(key=_log_time)
            if i + 1 == len(blocks) or not pending or pending[-1][1] <= blocks[i + 1].first_ns:
                yield from pending
                pending = []
            else:
                # Chunks overlap in time: what is later than the next one's start has to wait.
                later = [item for item in pending if item[1] > blocks[i + 1].first_ns]
                yield from pending[: len(pending) - len(later)]
                pending = later

    def _find_blocks(self) -> bool:
        """Walk the records of the file; return whether it has its end."""
        run: _Block | None = None
        end = len(_MAGIC)
        for kind, start, end in _records(self._data, len(_MAGIC)):
            if kind == _MESSAGE:
                if run is None or start - run.start > _RUN_BYTES:
                    (_, _, log_ns, _) = _MESSAGE_HEAD.unpack_from(self._data, start)
                    run = _Block(log_ns, start - _RECORD.size, end)
                    self._blocks.append(run)
                run.end = end
                continue
            run = None
            if kind == _CHUNK:
                self._blocks.append(_chunk(self._data, start, end))
            elif kind == _FOOTER:
                return True
            else:
                self._define(kind, self._data[start:end])
        self._take_cut_chunk(end)
        size = len(self._data)
        self.lost.append(f'the file is cut off: it has no end after {size} bytes')
        return False

    def _take_cut_chunk(self, at: int) -> None:
        """Use what is there of a chunk that was being written, unless it is compressed."""
        head = at + _RECORD.size
        if head + _CHUNK_HEAD.size <= len(self._data) and self._data[at] == _CHUNK:
            block = _chunk(self._data, head, len(self._data))
            if block.compression == '':
                block.crc, block.is_cut = 0, True
                self._blocks.append(block)
            else:
                self.lost.append('the last chunk, which is compressed')

    def _read(self, block: _Block) -> list[tuple[Topic, int, bytes]]:
        """Return the messages of a block; one that is damaged counts as lost."""
        data: Buffer = self._data[block.start : block.end]
        if block.compression or block.crc:
            try:
                data = decompress(bytes(data), block.compression, block.size, block.crc)
            except Exception as error:  # each library for compression has errors of its own
                self.lost.append(f'a damaged chunk at byte {block.start}: {error}'.rstrip('.'))
                return []
        messages = []
        channels, head, head_size = self._channels, _MESSAGE_HEAD.unpack_from, _MESSAGE_HEAD.size
        end = strays = 0
        for kind, start, end in _records(data, 0):
            if kind == _MESSAGE:
                number, _, log_ns, _ = head(data, start)
                topic = channels.get(number)
                if topic is None:
                    strays += 1
                else:
                    messages.append((topic, log_ns, bytes(data[start + head_size : end])))
            else:
                self._define(kind, memoryview(data)[start:end])
        if strays:
            self.lost.append(f'{strays} messages of unknown topics at byte {block.start}')
        if end < len(data) and not block.is_cut:
            self.lost.append(f'what follows a damaged message at byte {block.start + end}')
        return messages

    def _define(self, kind: int, record: memoryview) -> None:
        """Note a schema or a channel."""
        number = int.from_bytes(record[:2], 'little')
        if kind == _SCHEMA and number not in self._schemas:
            (name, encoding, text), _ = _strings(record, 2, 3)
            form = _FORMATS.get(encoding, MessageDefinitionFormat.NONE)
            self._schemas[number] = _Schema(name, MessageDefinition(form, text))
        elif kind == _CHANNEL and number not in self._channels:
            self._channels[number] = self._topic(record)

    def _topic(self, record: memoryview) -> Topic:
        schema = self._schemas.get(int.from_bytes(record[2:4], 'little'))
        (name, encoding), at = _strings(record, 4, 2)
        qos = _metadata(record, at).get('offered_qos_profiles', '')
        if schema is None:
            schema = _Schema('', MessageDefinition(MessageDefinitionFormat.NONE, ''))
        return Topic(name, schema.name, schema.definition, '', encoding, read_qos(qos))


def _log_time(message: tuple[Topic, int, bytes]) -> int:
    return message[1]


def _records(data: Buffer, at: int) -> Iterator[tuple[int, int, int]]:
    """Yield kind, start and end of the content of all whole records from `at` on."""
    size, head, head_size = len(data), _RECORD.unpack_from, _RECORD.size
    while at + head_size <= size:
        kind, length = head(data, at)
        at += head_size
        if length > size - at or kind == 0:
            return
        yield kind, at, at + length
        at += length


def _chunk(data: Buffer, start: int, end: int) -> _Block:
    """Return the block of a chunk record between these bytes."""
    first_ns, _, size, crc, letters = _CHUNK_HEAD.unpack_from(data, start)
    at = start + _CHUNK_HEAD.size
    compression = bytes(data[at : at + letters]).decode('ascii', 'replace')
    # Then comes the length of the records, which is what is left.
    return _Block(first_ns, at + letters + 8, end, compression, size, crc)


def _strings(record: memoryview, at: int, count: int) -> tuple[list[str], int]:
    """Return so many strings from `at` on, and where they end."""
    texts = []
    for _ in range(count):
        length = int.from_bytes(record[at : at + 4], 'little')
        texts.append(bytes(record[at + 4 : at + 4 + length]).decode('utf-8', 'replace'))
        at += 4 + length
    return texts, at


def _metadata(record: memoryview, at: int) -> Mapping[str, str]:
    """Return the map of strings at the end of a channel."""
    pairs = {}
    at += 4
    while at < len(record):
        (key, value), at = _strings(record, at, 2)
        pairs[key] = value
    return pairs
