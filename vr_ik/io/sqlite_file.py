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

"""Reads the sqlite3 files of rosbag2, also those that were cut off."""

from pathlib import Path
import sqlite3
from urllib.parse import quote

from rosbags.interfaces import MessageDefinition, MessageDefinitionFormat

from vr_ik.errors import VrIkError
from vr_ik.io.bag_topics import Messages, read_qos, Topic

_MAGIC = b'SQLite format 3\x00'
_FORMATS = {'ros2msg': MessageDefinitionFormat.MSG, 'ros2idl': MessageDefinitionFormat.IDL}


class SqliteFile:
    """The topics and messages of one file; `lost` says what of it could not be read."""

    def __init__(self, path: Path) -> None:
        """Read the topics; raise `VrIkError` for what is no file of rosbag2."""
        self.lost: list[str] = []
        self._is_cut = _is_cut(path)
        if self._is_cut:
            self.lost.append('the file is cut off: it is shorter than its own header says')
        # A recorder that was killed may have left a journal, which belongs to the file.
        mode = 'mode=ro' if path.with_name(f'{path.name}-wal').exists() else 'immutable=1'
        self._db = sqlite3.connect(f'file:{quote(str(path))}?{mode}', uri=True)
        self._db.row_factory = sqlite3.Row
        # Else the first text that is not UTF-8 would end it all.
        self._db.text_factory = _text
        try:
            # Without it SQLite refuses a file that was cut off as a whole.
            self._db.execute('PRAGMA writable_schema=ON')
            self._topics = self._read_topics()
        except (sqlite3.Error, KeyError, IndexError) as error:
            self._db.close()
            raise VrIkError(f"'{path}' is no bag of rosbag2: {error}.") from error

    @property
    def topics(self) -> list[Topic]:
        """All topics, in the order of their numbers."""
        return list(self._topics.values())

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    def messages(self) -> Messages:
        """Yield all messages in the order of their recording.

        Times and contents are what the file has: SQLite holds columns to no type.
        """
        # The index by time is at the end of a file, and not to be had where that is cut off.
        order = 'id' if self._is_cut else 'timestamp, id'
        query = f'SELECT topic_id, timestamp, data FROM messages ORDER BY {order}'
        cursor = self._db.cursor()
        cursor.row_factory = None
        strays = 0
        try:
            for number, log_ns, data in cursor.execute(query):
                topic = self._topics.get(number)
                if topic is None:
                    strays += 1
                else:
                    yield topic, log_ns, data
        except sqlite3.DatabaseError as error:
            if not self._is_cut:
                self.lost.append(f'what comes after a damaged page: {error}')
        if strays:
            self.lost.append(f'{strays} messages of topics that the file does not name')

    def _read_topics(self) -> dict[int, Topic]:
        definitions = {}
        if self._has_table('message_definitions'):
            for row in self._db.execute('SELECT * FROM message_definitions'):
                form = _FORMATS.get(row['encoding'], MessageDefinitionFormat.NONE)
                text = row['encoded_message_definition']
                definitions[row['topic_type']] = MessageDefinition(form, text)
        unknown = MessageDefinition(MessageDefinitionFormat.NONE, '')
        topics = {}
        for row in self._db.execute('SELECT * FROM topics ORDER BY id'):
            of = dict(row)
            topics[of['id']] = Topic(
                of['name'],
                of['type'],
                definitions.get(of['type'], unknown),
                of.get('type_description_hash') or '',
                of['serialization_format'],
                read_qos(of.get('offered_qos_profiles')),
            )
        return topics

    def _has_table(self, name: str) -> bool:
        query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
        return self._db.execute(query, (name,)).fetchone() is not None


def _text(raw: bytes) -> str:
    return raw.decode('utf-8', 'replace')


def _is_cut(path: Path) -> bool:
    """Tell whether a file is shorter than the pages that its header counts."""
    with path.open('rb') as file:
        header = file.read(100)
    if len(header) < 100 or header[:16] != _MAGIC:
        raise VrIkError(f"'{path}' is no sqlite3 file.")
    page_size = int.from_bytes(header[16:18], 'big')
    page_size = 65536 if page_size == 1 else page_size
    return path.stat().st_size < page_size * int.from_bytes(header[28:32], 'big')
