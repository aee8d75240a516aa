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

"""What the bag writer leaves behind: whole bags that others read, or nothing."""

from typing import Any

import pytest
from rosbags.highlevel import AnyReader
from rosbags.interfaces import MessageDefinition, MessageDefinitionFormat
from rosbags.rosbag2 import Reader

from vr_ik.errors import VrIkError
from vr_ik.io.bag_topics import known_topic, TF_TYPE
from vr_ik.io.bag_writer import BagWriter

TF = known_topic('/tf', TF_TYPE, depth=10)
EMPTY_TF = b'\x00\x01\x00\x00' + bytes(4)
LARGE = bytes(600_000)


def test_counts_and_times_are_those_of_the_messages(tmp_path):
    stamps = [5, 3, 9, 4, 8]
    with BagWriter(tmp_path / 'bag') as bag:
        bag.add(known_topic('/silent', TF_TYPE, depth=10))
        for stamp_ns in stamps:
            bag.write(TF, stamp_ns, LARGE)
    with Reader(tmp_path / 'bag') as reader:
        assert reader.message_count == len(stamps)
        assert {c.topic: c.msgcount for c in reader.connections} == {'/silent': 0, '/tf': 5}
        assert (reader.start_time, reader.end_time) == (3, 10)
        assert sorted(stamp_ns for _, stamp_ns, _ in reader.messages()) == sorted(stamps)


def test_a_definition_without_what_it_is_made_of_is_completed(tmp_path):
    text = 'geometry_msgs/TransformStamped[] transforms'
    cut = TF._replace(definition=MessageDefinition(MessageDefinitionFormat.MSG, text))
    with BagWriter(tmp_path / 'bag') as bag:
        bag.write(cut, 1, EMPTY_TF)
    with AnyReader([tmp_path / 'bag']) as reader:
        ((connection, _, data),) = reader.messages()
        assert connection.digest == TF.type_hash
        message: Any = reader.deserialize(data, connection.msgtype)
        assert len(message.transforms) == 0


class FullForAWhile:
    """A file on a disk that is full just now, in the middle of a record."""

    def __init__(self, file):
        self._file = file
        self.is_full = True

    def write(self, data):
        if self.is_full and len(data) > 100_000:
            raise OSError(28, 'No space left on device')
        return self._file.write(data)

    def __getattr__(self, name):
        return getattr(self._file, name)


def test_after_a_chunk_that_could_not_be_written_there_is_no_bag(tmp_path):
    with pytest.raises(VrIkError, match='No space left'), BagWriter(tmp_path / 'bag') as bag:
        storage: Any = bag._storage
        disk = storage.bio = FullForAWhile(storage.bio)
        bag.write(TF, 1, LARGE)
        # As a recorder does that hears of it in another thread.
        with pytest.raises(OSError, match='No space'):
            bag.write(TF, 2, LARGE)
        disk.is_full = False
    assert list(tmp_path.iterdir()) == []
