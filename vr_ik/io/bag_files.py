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
Opens bags (rosbag2: MCAP or sqlite3), whole or damaged.

What can be read is read; `Bag.lost` says in words what could not be.
"""

from collections import Counter
from contextlib import ExitStack
from pathlib import Path
import re
import struct
import tempfile
from types import TracebackType

from rosbags.rosbag2.storage_mcap import DECOMPRESSORS
import yaml

from vr_ik.errors import VrIkError
from vr_ik.io.bag_metadata import METADATA, read_metadata
from vr_ik.io.bag_topics import Messages, Topic
from vr_ik.io.mcap_file import McapFile
from vr_ik.io.sqlite_file import SqliteFile

_STORAGES = ('.mcap', '.db3')
_COMPRESSED = '.zstd'
_ENCODING = 'cdr'
_TYPE = re.compile(r'[A-Za-z]\w*/(msg|srv|action)/\w+', re.ASCII)
_LAST_NS = 2**63 - 1
"""Times are 64 bit with a sign in ROS 2, whatever a file holds."""


def is_bag(path: Path) -> bool:
    """Tell whether a path is a bag: its folder, or a single storage file."""
    return _is_storage(path) or (path / METADATA).is_file() or bool(_storage_files(path))


class Bag:
    """A bag that is open for reading, to be used in a `with` block."""

    def __init__(self, path: Path) -> None:
        """Open all files of the bag; raise `VrIkError` where there is nothing to read."""
        self.path = path
        self.lost: list[str] = []
        """What could not be read, in words."""
        self.size_bytes = 0
        """Of the files: what there is to read."""
        self._files: list[McapFile | SqliteFile] = []
        self._stack = ExitStack()
        self._messages_compressed = False
        self._expected = 0
        """How many messages there are at least, by what the bag says of itself."""
        try:
            self._open()
        except BaseException:
            self._stack.close()
            raise

    def __enter__(self) -> 'Bag':
        """Return the open bag."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the files."""
        self._stack.close()

    @property
    def topics(self) -> list[Topic]:
        """All topics of ROS 2, each once; others (JSON, protobuf) have no place in a bag."""
        found = {topic: None for file in self._files for topic in file.topics}
        return [topic for topic in found if not _foreign(topic)]

    def messages(self) -> Messages:
        """Yield the messages in the order of their recording; `lost` is complete after it."""
        count = 0
        unfit: Counter[str] = Counter()
        for file in self._files:
            # By identity: topics are long to compare, and each is one object in its file.
            foreign = {id(topic): fault for topic in file.topics if (fault := _foreign(topic))}
            for topic, log_ns, data in file.messages():
                count += 1
                try:
                    if id(topic) in foreign:
                        raise VrIkError(foreign[id(topic)])
                    _check(log_ns, data)
                    whole = _decompressed(data) if self._messages_compressed else data
                except VrIkError as error:
                    unfit[f'messages on {topic.name}: {error}'] += 1
                else:
                    yield topic, log_ns, whole
            for text in file.lost:
                self._lose(text)
        for text, times in unfit.items():
            self._lose(f'{times} {text}')
        if count < self._expected and not self.lost:
            self._lose(f'{self._expected - count} messages that {METADATA} counts')

    def _lose(self, text: str) -> None:
        if text not in self.lost:
            self.lost.append(text)

    def _open(self) -> None:
        if not self.path.exists():
            raise VrIkError(f"The bag '{self.path}' cannot be read: there is no such file.")
        for path in self._paths():
            try:
                file = self._open_file(path)
            except (VrIkError, OSError, ValueError, struct.error) as error:
                self.lost.append(f"the file '{path.name}': {error}".rstrip('.'))
                continue
            self._stack.callback(file.close)
            self._files.append(file)
            self.size_bytes += path.stat().st_size
        if not self._files:
            reasons = '; '.join(self.lost) or 'it has no .mcap or .db3 file'
            raise VrIkError(f"The bag '{self.path}' cannot be read: {reasons}.")

    def _paths(self) -> list[Path]:
        """Return the storage files in their order."""
        if not self.path.is_dir():
            return [self.path]
        try:
            described = read_metadata(self.path)
            names = [Path(name).name for name in described['relative_file_paths']]
            mode = str(described.get('compression_mode', ''))
            self._messages_compressed = mode.upper() == 'MESSAGE'
            self._expected = int(described.get('message_count', 0))
        except (OSError, yaml.YAMLError, KeyError, TypeError, ValueError):
            files = _storage_files(self.path)
            if files:
                self.lost.append(f'{METADATA}, which is missing or damaged')
            return files
        self.lost.extend(f"the file '{n}'" for n in names if not (self.path / n).exists())
        return [self.path / name for name in names if (self.path / name).exists()]

    def _open_file(self, path: Path) -> McapFile | SqliteFile:
        if not _is_storage(path):
            raise VrIkError(f'it is neither {" nor ".join(_STORAGES)}')
        if path.suffix == _COMPRESSED:
            folder = self._stack.enter_context(tempfile.TemporaryDirectory())
            whole = Path(folder, path.stem)
            whole.write_bytes(_decompressed(path.read_bytes()))
            path = whole
        return McapFile(path) if path.suffix == '.mcap' else SqliteFile(path)


def _decompressed(data: bytes) -> bytes:
    try:
        return DECOMPRESSORS['zstd'](data, 0)
    except Exception as error:  # the library has errors of its own, another in each Python
        raise VrIkError(f'the compressed bytes are damaged ({error})') from error


def _foreign(topic: Topic) -> str:
    """Return why a topic is none of ROS 2, in words; nearly always empty."""
    if topic.encoding != _ENCODING:
        return f"the encoding '{topic.encoding}' is not of ROS 2"
    return '' if topic.name and _TYPE.fullmatch(topic.type) else 'the type is not told'


def _check(log_ns: object, data: object) -> None:
    """Raise `VrIkError` for a message that has no place in a bag."""
    if type(data) is not bytes:
        raise VrIkError('the contents are no bytes')
    if type(log_ns) is not int or not 0 <= log_ns <= _LAST_NS:
        raise VrIkError('the time of recording is none')


def _is_storage(path: Path) -> bool:
    kind = Path(path.stem).suffix if path.suffix == _COMPRESSED else path.suffix
    return kind in _STORAGES and not path.is_dir()


def _storage_files(folder: Path) -> list[Path]:
    """Return the storage files of a folder in the order of their numbers: …_2 before …_10."""
    if not folder.is_dir():
        return []
    files = [path for path in folder.iterdir() if _is_storage(path)]
    return sorted(files, key=lambda path: (len(path.name), path.name))
