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

"""Calibrations of users, kept as YAML files, one a user."""

from dataclasses import asdict, fields
from datetime import datetime
import os
from pathlib import Path
import re
from typing import Any

import numpy as np
import yaml

from vr_ik.body.anthropometry import Proportions
from vr_ik.body.mounts import Mount
from vr_ik.body.skeleton import Frame, frames, Segment, segments
from vr_ik.calibration.calibration import Calibration
from vr_ik.config import ROLES
from vr_ik.errors import CalibrationError, UnknownNameError, VrIkError
from vr_ik.math.rotations import matrix_from_quaternion, pose, quaternion_from_matrix

VERSION = 1
"""Of the files' layout; it grows when old files can no longer be read."""
_NAME = re.compile(r'[A-Za-z0-9][A-Za-z0-9_.-]*')


def default_folder() -> Path:
    """Return where calibrations are kept unless told otherwise (XDG base directories)."""
    config = os.environ.get('XDG_CONFIG_HOME') or str(Path.home() / '.config')
    return Path(config) / 'vr_ik' / 'users'


def users(folder: Path) -> tuple[str, ...]:
    """Return the names of all users with a calibration, sorted."""
    return tuple(sorted(file.stem for file in folder.glob('*.yaml') if file.is_file()))


def describe(user: str, folder: Path) -> str:
    """Return in a line what is kept of a user, and since when; or why it cannot be read."""
    try:
        body = load(user, folder).summary()
    except CalibrationError as error:
        return f'{user}: {error}'
    saved = datetime.fromtimestamp(_path(user, folder).stat().st_mtime)
    return f'{user}: {body} Saved {saved:%Y-%m-%d %H:%M}.'


def save(calibration: Calibration, user: str, folder: Path) -> Path:
    """Write a user's calibration; the old one is replaced only once the new one is written."""
    path = _path(user, folder)
    text = yaml.safe_dump(as_mapping(calibration), sort_keys=False)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix('.new')
        unfinished.write_text(text, encoding='utf-8')
        unfinished.replace(path)
    except OSError as error:
        raise CalibrationError(f"Cannot write '{path}': {error.strerror}.") from None
    return path


def load(user: str, folder: Path) -> Calibration:
    """Read a user's calibration."""
    path = _path(user, folder)
    if not path.is_file():
        raise UnknownNameError('user', user, users(folder))
    try:
        content = yaml.safe_load(path.read_text(encoding='utf-8'))
        return _from_mapping(content)
    except VrIkError as error:
        raise CalibrationError(f"'{path}': {error}") from None
    except UnicodeDecodeError:
        raise CalibrationError(f"'{path}' is no calibration: it is no text.") from None
    except yaml.MarkedYAMLError as error:
        line = f' in line {error.problem_mark.line + 1}' if error.problem_mark else ''
        raise CalibrationError(f"'{path}' is no YAML: {error.problem}{line}.") from None
    except KeyError as error:
        raise CalibrationError(f"'{path}' is no calibration: it has no {error}.") from None
    except (OSError, yaml.YAMLError, TypeError, ValueError) as error:
        raise CalibrationError(f"'{path}' is no calibration: {error}.") from None


def check_name(user: str) -> None:
    """Raise `CalibrationError` for what cannot be the name of a user."""
    if not _NAME.fullmatch(user):
        raise CalibrationError(
            f"'{user}' cannot be a user's name; use letters, digits and the signs . _ -"
        )


def _path(user: str, folder: Path) -> Path:
    check_name(user)
    return folder / f'{user}.yaml'


def as_mapping(calibration: Calibration) -> dict[str, Any]:
    """Return what is stored of a calibration, in plain types."""
    mounts = {}
    for role, mount in calibration.mounts.items():
        at = mount.pose_link_from_device
        mounts[role] = {
            'link': mount.link,
            'position_m': [float(x) for x in at[:3, 3]],
            'quaternion_xyzw': [float(x) for x in quaternion_from_matrix(at[:3, :3])],
        }
    lengths = {name: float(length) for name, length in asdict(calibration.proportions).items()}
    return {
        'version': VERSION,
        'floor_m': float(calibration.floor_m),
        'lengths_m': lengths,
        'devices': mounts,
    }


def _from_mapping(content: Any) -> Calibration:
    if not isinstance(content, dict):
        raise ValueError('it has no entries')
    if content['version'] != VERSION:
        raise CalibrationError(f'version {content["version"]} cannot be read; known: {VERSION}.')
    lengths = content['lengths_m']
    names = [item.name for item in fields(Proportions)]
    proportions = Proportions(**{name: float(lengths[name]) for name in names})
    parts: tuple[Segment | Frame, ...] = (
        *segments(proportions, 'full'),
        *frames(proportions, 'full'),
    )
    links = ('base_link', *(part.link for part in parts))
    mounts = {}
    for role, device in content['devices'].items():
        if role not in ROLES:
            raise UnknownNameError('device', str(role), ROLES)
        quaternion = np.array(device['quaternion_xyzw'], np.float64)
        position = np.array(device['position_m'], np.float64)
        norm = float(np.linalg.norm(quaternion))
        if position.shape != (3,) or quaternion.shape != (4,) or not 0.9 < norm < 1.1:
            raise ValueError(f'the pose of {role} is no position and unit quaternion')
        rotation = matrix_from_quaternion(quaternion / norm)
        if device['link'] not in links:
            raise UnknownNameError(f'link of {role}', str(device['link']), links)
        mounts[role] = Mount(device['link'], pose(rotation, position))
    return Calibration(proportions, mounts, float(content['floor_m']))
