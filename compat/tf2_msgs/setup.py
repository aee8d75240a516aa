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
Build the official tf2_msgs/msg/TFMessage against the ROS 2 wheels in this environment.

The wheels on PyPI include no tf2_msgs. They do include the generators that ROS 2 itself makes its
messages with: what comes out is the official type, with the official hash and bytes, as one C
extension. The folder is called after the package; a ROS 2 installation has its own and needs none
of this.
"""

import os
from pathlib import Path
import sys

import numpy
from setuptools import Extension, setup

PREFIX = Path(sys.prefix)
os.environ.setdefault('AMENT_PREFIX_PATH', str(PREFIX))

from rosidl_adapter.msg import convert_msg_to_idl  # noqa: E402
from rosidl_generator_c.cli import GenerateC  # noqa: E402
from rosidl_generator_py.cli import GeneratePython  # noqa: E402
from rosidl_generator_type_description.cli import HashTypeDescription  # noqa: E402
from rosidl_typesupport_fastrtps_c.cli import GenerateFastRTPSCTypesupport  # noqa: E402
from rosidl_typesupport_introspection_c.cli import (  # noqa: E402
    GenerateIntrospectionCTypesupport,
)

NAME = 'tf2_msgs'
ROOT = Path(__file__).resolve().parent
GENERATED = ROOT / 'build' / 'generated'
MESSAGE_PACKAGES = ('geometry_msgs', 'std_msgs', 'builtin_interfaces')


def generate() -> None:
    """Write the C, Python and type support sources, each kind to a folder of its own."""
    message = Path('msg', 'TFMessage.msg')
    idl_root = GENERATED / 'idl'
    convert_msg_to_idl(ROOT, NAME, message, idl_root / 'msg')
    inputs = {
        'package_name': NAME,
        'interface_files': [f'{idl_root}:{message.with_suffix(".idl")}'],
        'include_paths': [str(PREFIX / 'share' / package) for package in MESSAGE_PACKAGES],
    }
    description = HashTypeDescription('type_description').generate_type_hashes(
        **inputs, output_path=GENERATED / 'share' / NAME
    )
    GenerateC('c').generate(
        **inputs, output_path=GENERATED / 'c' / NAME, type_description_files=description
    )
    for kind, generator in (
        ('py', GeneratePython('py', typesupport_implementations=['rosidl_typesupport_c'])),
        ('fastrtps', GenerateFastRTPSCTypesupport('fastrtps_c')),
        ('introspection', GenerateIntrospectionCTypesupport('introspection_c')),
    ):
        generator.generate(**inputs, output_path=GENERATED / kind / NAME)
    (GENERATED / 'py' / NAME / '__init__.py').touch()


def relative(paths: list[Path]) -> list[str]:
    """Return the paths from this folder, as setuptools wants them."""
    return sorted(str(path.relative_to(ROOT)) for path in paths)


def extension() -> Extension:
    """Return the one extension: message, conversion from and to Python, both type supports."""
    sources = [ROOT / 'type_support.c', *GENERATED.rglob('*.c'), *GENERATED.rglob('*.cpp')]
    return Extension(
        f'{NAME}.{NAME}_s__rosidl_typesupport_c',
        sources=relative(sources),
        include_dirs=[
            *relative([GENERATED / kind for kind in ('c', 'fastrtps', 'introspection')]),
            *(str(folder) for folder in (PREFIX / 'include').iterdir() if folder.is_dir()),
            numpy.get_include(),
        ],
        library_dirs=[str(PREFIX / 'lib')],
        libraries=[
            'fastcdr',
            'rcutils',
            'rosidl_runtime_c',
            'rosidl_typesupport_c',
            'rosidl_typesupport_fastrtps_c',
            'rosidl_typesupport_fastrtps_cpp',
            'rosidl_typesupport_introspection_c',
            *(f'{package}__rosidl_generator_c' for package in MESSAGE_PACKAGES),
            'geometry_msgs__rosidl_generator_py',
            'geometry_msgs__rosidl_typesupport_fastrtps_c',
            'geometry_msgs__rosidl_typesupport_introspection_c',
        ],
        language='c++',
    )


def ament_index() -> list[tuple[str, list[str]]]:
    """Return the data files by which ROS 2 tools find a package and its messages."""
    index = GENERATED / 'share' / 'ament_index' / 'resource_index'
    markers = {'packages': '', 'rosidl_interfaces': 'msg/TFMessage.idl\nmsg/TFMessage.msg\n'}
    for kind, content in markers.items():
        (index / kind).mkdir(parents=True, exist_ok=True)
        (index / kind / NAME).write_text(content)
    messages = [ROOT / 'msg' / 'TFMessage.msg', *(GENERATED / 'idl').rglob('*.idl')]
    messages += (GENERATED / 'share').rglob('*.json')
    return [
        *(
            (f'share/ament_index/resource_index/{kind}', relative([index / kind / NAME]))
            for kind in markers
        ),
        (f'share/{NAME}/msg', relative(messages)),
    ]


generate()
setup(
    name='vr_ik_tf2_msgs',
    version='0.1.0',
    description='tf2_msgs/msg/TFMessage for an environment made of ROS 2 wheels',
    license='Apache-2.0',
    packages=[NAME, f'{NAME}.msg'],
    package_dir={'': relative([GENERATED / 'py'])[0]},
    ext_modules=[extension()],
    data_files=ament_index(),
)
