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

"""Writes bags (rosbag2, MCAP): under another name until they are whole, then in their place."""

from contextlib import suppress
import os
from pathlib import Path
import shutil
import struct
import tempfile
from types import TracebackType

from rosbags.interfaces import Connection, MessageDefinitionFormat
from rosbags.interfaces.typing import Typesdict
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.rosbag2.storage_mcap import McapWriter
from rosbags.typesys import get_types_from_idl, get_types_from_msg, get_typestore, Stores

from vr_ik.errors import VrIkError
from vr_ik.io.bag_topics import Topic, typestore

_MESSAGE_HEAD = struct.Struct('<BQHIQQ')
_MESSAGE, _HEAD_BYTES = 0x05, 22
_CHUNK_BYTES = 1 << 20


class _QuickMcap(McapWriter):
    """The MCAP writer of `rosbags`, whose messages go into their chunk in one piece.

    That makes a sixth of its time: a solved frame is three messages.
    """

    def write(self, connection: Connection, timestamp: int, data: bytes | memoryview) -> None:
        """Write a message."""
        chunk, number = self.chunk, connection.id
        at = chunk.bio.tell()
        chunk.msgs[number].append((timestamp, at))
        self.channel_stats[number] += 1
        if timestamp < chunk.message_start_time:
            chunk.message_start_time = timestamp
            self.message_start_time = min(timestamp, self.message_start_time)
        if timestamp > chunk.message_end_time:
            chunk.message_end_time = timestamp
            self.message_end_time = max(timestamp, self.message_end_time)
        size = len(data)
        chunk.bio.write(
            _MESSAGE_HEAD.pack(_MESSAGE, size + _HEAD_BYTES, number, 0, timestamp, timestamp)
        )
        chunk.bio.write(data)
        if at + size > _CHUNK_BYTES:
            self.close_chunk()


class _QuickWriter(Writer):
    """The writer of `rosbags` on it, which leaves checks of every message to `BagWriter`."""

    STORAGE_PLUGINS = {StoragePlugin.MCAP: _QuickMcap}

    def write(self, connection: Connection, timestamp: int, data: bytes | memoryview) -> None:
        """Write a message."""
        assert self.storage is not None
        self.storage.write(connection, timestamp, data)
        self.counts[connection.id] += 1
        if timestamp < self.min_timestamp:
            self.min_timestamp = timestamp
        if timestamp > self.max_timestamp:
            self.max_timestamp = timestamp


class BagWriter:
    """A bag that is being written, to be used in a `with` block.

    It appears in its place at the end of the block. After an error nothing is left of it.
    """

    def __init__(self, path: Path) -> None:
        """Begin a bag; raise `VrIkError` where there is something in its place already."""
        check_free(path)
        self._path = path
        self._connections: dict[int, tuple[Topic, Connection]] = {}
        try:
            # A folder of its own beside the place: a file in it has the bag's name already.
            self._folder = Path(tempfile.mkdtemp(prefix=f'.{path.name}-', dir=path.parent))
        except OSError as error:
            raise _not_written(path, error) from error
        self._writer = _QuickWriter(
            self._folder / path.name, version=9, storage_plugin=StoragePlugin.MCAP
        )

    def __enter__(self) -> 'BagWriter':
        """Open the bag."""
        try:
            self._writer.open()
        except OSError as error:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise _not_written(self._path, error) from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Put the bag into its place, or leave nothing behind."""
        try:
            if error is None:
                self._writer.close()
                check_free(self._path)
                (self._folder / self._path.name).rename(self._path)
            else:
                self._writer.abort()
        except OSError as failure:
            raise _not_written(self._path, failure) from failure
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)
        if isinstance(error, OSError):
            raise _not_written(self._path, error) from error

    def write(self, topic: Topic, log_ns: int, data: bytes | memoryview) -> None:
        """Append a message."""
        # By identity: topics are long to compare, and each is one object nearly always.
        known = self._connections.get(id(topic))
        connection = self._add(topic) if known is None else known[1]
        self._writer.write(connection, log_ns, data)

    def add(self, topic: Topic) -> None:
        """Have a topic in the bag, with messages or without."""
        if id(topic) not in self._connections:
            self._add(topic)

    def _add(self, topic: Topic) -> Connection:
        described = (topic.name, topic.type, topic.encoding, topic.qos)
        for other, known in self._connections.values():
            if (other.name, other.type, other.encoding, other.qos) == described:
                connection = known
                break
        else:
            text, type_hash = _definition(topic)
            connection = self._writer.add_connection(
                topic.name,
                topic.type,
                msgdef=text,
                rihs01=type_hash,
                serialization_format=topic.encoding,
                offered_qos_profiles=topic.qos,
            )
        self._connections[id(topic)] = topic, connection
        return connection


def check_free(path: Path) -> None:
    """Raise `VrIkError` where a bag could not be put."""
    if path.exists():
        raise VrIkError(f"'{path}' exists already: choose a name that is not there yet.")
    if not path.absolute().parent.is_dir():
        raise VrIkError(f"'{path}' cannot be written: there is no folder '{path.parent}'.")
    if not os.access(path.absolute().parent, os.W_OK | os.X_OK):
        raise VrIkError(f"'{path}' cannot be written: permission denied.")


def _not_written(path: Path, error: OSError) -> VrIkError:
    reason = error.strerror or str(error)
    return VrIkError(f"The bag '{path}' cannot be written: {reason}. Nothing is left of it.")


def _definition(topic: Topic) -> tuple[str, str]:
    """Return definition and hash of a topic's type, which fit each other: readers compare them.

    The definition is the bag's own, or else that of ROS 2. Of a type that is somebody else's and
    not described in a way that can be read it is empty: its messages are passed on all the same.
    """
    # Texts are of whatever kind: what the library's parsers trip over is passed over.
    own: Typesdict = {}
    with suppress(Exception):
        own = _types(topic)
        if own and topic.definition.format is MessageDefinitionFormat.MSG:
            return topic.definition.data, _hash(topic.type, own)
    with suppress(Exception):
        return _generated(topic.type, own)
    return '', _hash(topic.type, get_types_from_msg('', topic.type))


def _types(topic: Topic) -> Typesdict:
    """Return what a bag's own definition describes."""
    text, form = topic.definition.data, topic.definition.format
    if not text.strip():
        return {}
    if form is MessageDefinitionFormat.IDL:
        return get_types_from_idl(text)
    return get_types_from_msg(text, topic.type) if form is MessageDefinitionFormat.MSG else {}


def _generated(type_: str, types: Typesdict) -> tuple[str, str]:
    """Return definition and hash of a type, by its own types and those of ROS 2."""
    store = get_typestore(Stores.EMPTY)
    store.register({**typestore().fielddefs, **types})
    return store.generate_msgdef(type_, ros_version=2)[0], store.hash_rihs01(type_)


def _hash(type_: str, types: Typesdict) -> str:
    """Return the hash of a type that is described in full."""
    store = get_typestore(Stores.EMPTY)
    store.register(types)
    return store.hash_rihs01(type_)
