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

"""The description of a bag that rosbag2 keeps beside its files, read and written as YAML."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rosbags.interfaces import Connection, ConnectionExtRosbag2, Qos
from rosbags.rosbag2.metadata import dump_qos_v9
import yaml

METADATA = 'metadata.yaml'
VERSION = 9
"""Of the description."""
_ROOT = 'rosbag2_bagfile_information'
# The parser in C where PyYAML has it: the other takes as long as a second of motion is solved in.
_Loader = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
_Dumper = getattr(yaml, 'CSafeDumper', yaml.SafeDumper)


def read_metadata(folder: Path) -> dict[str, Any]:
    """Return the description of the bag in a folder; raises what the file or YAML raises."""
    content = yaml.load((folder / METADATA).read_text(encoding='utf-8'), _Loader)
    return dict(content[_ROOT])


def qos_text(profiles: Sequence[Qos]) -> str:
    """Return profiles as a channel has them."""
    return _yaml(dump_qos_v9(list(profiles)))


def bag_metadata(
    file_name: str,
    connections: Sequence[Connection],
    counts: Mapping[int, int],
    times_ns: tuple[int, int],
) -> tuple[str, str]:
    """Return the description as it stands in a bag's single file, and as it lies beside it.

    `counts`: messages by the number of their connection; `times_ns`: of the first and the last.
    """
    count = sum(counts.values())
    information = {
        'version': VERSION,
        'storage_identifier': 'mcap',
        'relative_file_paths': [file_name],
        **_span(times_ns, count),
        'topics_with_message_count': [_topic(x, counts[x.id]) for x in connections],
        'compression_format': '',
        'compression_mode': '',
        'files': [{'path': file_name, **_span(times_ns, count)}],
        'custom_data': None,
        'ros_distro': 'rosbags',
    }
    return _yaml(information), _yaml({_ROOT: information})


def _span(times_ns: tuple[int, int], count: int) -> dict[str, Any]:
    """Return from when to when there are how many messages; anew each time, lest YAML refers."""
    return {
        'duration': {'nanoseconds': max(0, times_ns[1] - times_ns[0])},
        'starting_time': {'nanoseconds_since_epoch': times_ns[0]},
        'message_count': count,
    }


def _topic(connection: Connection, count: int) -> dict[str, Any]:
    extension = connection.ext
    assert isinstance(extension, ConnectionExtRosbag2)
    return {
        'topic_metadata': {
            'name': connection.topic,
            'type': connection.msgtype,
            'serialization_format': extension.serialization_format,
            'offered_qos_profiles': dump_qos_v9(list(extension.offered_qos_profiles)),
            'type_description_hash': connection.digest,
        },
        'message_count': count,
    }


def _yaml(content: object) -> str:
    return str(yaml.dump(content, Dumper=_Dumper, default_flow_style=False, sort_keys=False))
