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
from functools import cache
import os
from pathlib import Path
import shutil
import struct
import tempfile
from types import TracebackType

from rosbags.interfaces import (
    Connection,
    ConnectionExtRosbag2,
    MessageDefinition,
    MessageDefinitionFormat,
)
from rosbags.interfaces.typing import Typesdict
from rosbags.rosbag2 import CompressionMode
from rosbags.rosbag2.storage_mcap import McapWriter
from rosbags.typesys import get_types_from_idl, get_types_from_msg, get_typestore, Stores
from rosbags.typesys.store import Typestore

from vr_ik.errors import VrIkError
from vr_ik.io.bag_metadata import bag_metadata, METADATA, qos_text, VERSION
from vr_ik.io.bag_topics import Topic, typestore

_MESSAGE_HEAD = struct.Struct('<BQHIQQ')
_MESSAGE, _HEAD_BYTES = 0x05, 22
_CHUNK_BYTES = 1 << 20


class _QuickMcap(McapWriter):
    """The MCAP writer of `rosbags`, whose messages go into their chunk in one piece.

    That makes a sixth of its time: a solved frame is three messages.
    """

    failure: OSError | None = None
    """Why a chunk could not be written."""

    def append(self, number: int, log_ns: int, data: bytes | memoryview) -> None:
        """Write a message of the connection with this number."""
        chunk = self.chunk
        at, size = chunk.bio.tell(), len(data)
        chunk.msgs[number].append((log_ns, at))
        if log_ns < chunk.message_start_time:
            chunk.message_start_time = log_ns
        if log_ns > chunk.message_end_time:
            chunk.message_end_time = log_ns
        chunk.bio.write(
            _MESSAGE_HEAD.pack(_MESSAGE, size + _HEAD_BYTES, number, 0, log_ns, log_ns)
        )
        chunk.bio.write(data)
        if at + size > _CHUNK_BYTES:
            self.close_chunk()

    def close_chunk(self) -> None:
        """Write the pending chunk; what is counted over messages is counted here.

        After a failure the file may end in the middle of a record: nothing can follow.
        """
        if self.failure is not None:
            raise self.failure
        chunk = self.chunk
        try:
            super().close_chunk()
        except OSError as error:
            self.failure = error
            raise
        for number, messages in chunk.msgs.items():
            self.channel_stats[number] += len(messages)
        self.message_start_time = min(self.message_start_time, chunk.message_start_time)
        self.message_end_time = max(self.message_end_time, chunk.message_end_time)


class BagWriter:
    """A bag that is being written, to be used in a `with` block.

    It appears in its place at the end of the block. After an error nothing is left of it.
    """

    def __init__(self, path: Path) -> None:
        """Begin a bag; raise `VrIkError` where there is something in its place already."""
        check_free(path)
        self._path = path
        self._numbers: dict[int, int] = {}
        """Of connections, by the identity of topics."""
        self._topics: list[Topic] = []
        """One object of each: what an identity stands for must not go."""
        self._connections: list[Connection] = []
        try:
            # A folder of its own beside the place: a file in it has the bag's name already.
            self._folder = Path(tempfile.mkdtemp(prefix=f'.{path.name}-', dir=path.parent))
        except OSError as error:
            raise _not_written(path, error) from error

    def __enter__(self) -> 'BagWriter':
        """Open the bag."""
        bag = self._folder / self._path.name
        try:
            bag.mkdir(mode=0o755)
            self._storage = _QuickMcap(bag, CompressionMode.NONE)
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
                self._close()
                check_free(self._path)
                (self._folder / self._path.name).rename(self._path)
            else:
                self._storage.abort()
        except OSError as failure:
            raise _not_written(self._path, failure) from failure
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)
        if isinstance(error, OSError):
            raise _not_written(self._path, error) from error

    def write(self, topic: Topic, log_ns: int, data: bytes | memoryview) -> None:
        """Append a message."""
        # By identity: topics are long to compare, and each is one object nearly always.
        number = self._numbers.get(id(topic))
        if number is None:
            number = self._add(topic)
        self._storage.append(number, log_ns, data)

    def add(self, topic: Topic) -> None:
        """Have a topic in the bag, with messages or without."""
        if id(topic) not in self._numbers:
            self._add(topic)

    def _add(self, topic: Topic) -> int:
        """Return the number of a topic's connection, which is new unless its equal is there."""
        extension = ConnectionExtRosbag2(topic.encoding, list(topic.qos))
        described = topic.name, topic.type, extension
        known = [(other.topic, other.msgtype, other.ext) for other in self._connections]
        if described not in known:
            self._connect(topic, extension)
            known.append(described)
        number = known.index(described) + 1
        self._numbers[id(topic)] = number
        self._topics.append(topic)
        return number

    def _connect(self, topic: Topic, extension: ConnectionExtRosbag2) -> None:
        text, type_hash = _definition(topic)
        connection = Connection(
            len(self._connections) + 1,
            topic.name,
            topic.type,
            MessageDefinition(MessageDefinitionFormat.MSG, text),
            type_hash,
            0,
            extension,
            self,
        )
        if topic.type not in {other.msgtype for other in self._connections}:
            self._storage.add_msgtype(connection)
        self._storage.add_connection(connection, qos_text(topic.qos))
        self._connections.append(connection)

    def _close(self) -> None:
        """Write what is left, the index, and the description that goes with the file."""
        storage = self._storage
        if storage.chunk.bio.tell():
            storage.close_chunk()
        counts = storage.channel_stats
        times_ns = storage.message_start_time, storage.message_end_time
        in_file, beside_it = bag_metadata(storage.path.name, self._connections, counts, times_ns)
        storage.close(VERSION, in_file)
        storage.path.with_name(METADATA).write_text(beside_it, encoding='utf-8')


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
    store = typestore()
    if any(store.fielddefs.get(name) != fields for name, fields in types.items()):
        store = _store({**store.fielddefs, **types})
    return store.generate_msgdef(type_, ros_version=2)[0], store.hash_rihs01(type_)


def _hash(type_: str, types: Typesdict) -> str:
    """Return the hash of a type that is described in full; raises for one that is not."""
    # To make a store takes long, and most types are those of ROS 2.
    store = typestore() if types == _ros2_types(type_) else _store(types)
    return store.hash_rihs01(type_)


@cache
def _ros2_types(type_: str) -> Typesdict:
    """Return a type of ROS 2 with all that it is made of; nothing where it has no such type."""
    if type_ not in typestore().fielddefs:
        return {}
    return get_types_from_msg(typestore().generate_msgdef(type_, ros_version=2)[0], type_)


def _store(types: Typesdict) -> Typestore:
    store = get_typestore(Stores.EMPTY)
    store.register(types)
    return store
