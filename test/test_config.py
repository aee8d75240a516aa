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

"""Laws of configurations: valid or not made at all, and the same from code, mapping and YAML."""

import dataclasses
import math
from pathlib import Path
from typing import Any

from hypothesis import given, strategies as st
import pytest

from vr_ik.body.anthropometry import Proportions
from vr_ik.config import (
    describe,
    from_mapping,
    replace,
    SolverConfig,
    TrackerConfig,
)
from vr_ik.config_fields import Config, Param, param, parameters
from vr_ik.config_file import load_config, namespaces
from vr_ik.config_texts import key_values, option_map
from vr_ik.errors import VrIkError

CONFIGS = [('tracker_node', TrackerConfig), ('solver_node', SolverConfig)]
CLASSES = [cls for _, cls in CONFIGS]
EVERY_PARAMETER = [
    pytest.param(cls, name, kind, info, id=f'{cls.__name__}.{name}')
    for cls in CLASSES
    for name, kind, info in parameters(cls)
]
CONFIG_FOLDER = Path(__file__).parent.parent / 'config'


@dataclasses.dataclass(frozen=True)
class Sample(Config):
    """One parameter of each kind."""

    flag: bool = param(True, 'A flag.')
    count: int = param(3, 'A count.', minimum=1, maximum=9)
    length_m: float = param(0.5, 'A length.', 'm', minimum=0.0, maximum=2.0)
    depth_m: float = param(1.0, 'A depth.', 'm', minimum=0.0)
    name: str = param('a', 'A name.', choices=('a', 'b'))
    names: tuple[str, ...] = param(('x',), 'Names.', choices=('x', 'y'), read_only=True)


def refusal(cls: type[Config], **values: Any) -> str:
    """Return the text with which a configuration is refused."""
    with pytest.raises(VrIkError) as error:
        from_mapping(cls, values)
    return str(error.value)


@pytest.mark.parametrize('cls', CLASSES)
def test_defaults_are_valid_and_survive_a_round_trip(cls: type[Config]) -> None:
    """A configuration is the mapping of its values, lists and tuples alike."""
    config = cls()
    mapping = dataclasses.asdict(config)
    assert from_mapping(cls, mapping) == config
    as_lists = {k: list(v) if isinstance(v, tuple) else v for k, v in mapping.items()}
    assert from_mapping(cls, as_lists) == config


@pytest.mark.parametrize(('cls', 'name', 'kind', 'info'), EVERY_PARAMETER)
def test_every_parameter_refuses_what_is_wrong(
    cls: type[Config], name: str, kind: Any, info: Param
) -> None:
    """Other types, numbers beyond the range and NaN are refused with the parameter's name."""
    wrong: list[Any] = [None, {}, object()]
    minimum, maximum = info.minimum or 0, info.maximum or 0
    if kind is float:
        wrong += [math.nan, math.inf, -math.inf, '1', True, [1.0]]
        wrong += [minimum - 1.0, maximum + max(1.0, 1e-9 * maximum)]
    elif kind is int:
        wrong += [1.0, '1', True, minimum - 1, maximum + 1]
    elif kind is str:
        wrong += [1, True, ['x']]
    else:
        wrong += ['hmd', [], [1], [''], ['hmd', 'nose']]
    for value in wrong:
        assert f"'{name}'" in refusal(cls, **{name: value}), value


@pytest.mark.parametrize(('cls', 'name', 'kind', 'info'), EVERY_PARAMETER)
def test_every_parameter_says_what_it_is(
    cls: type[Config], name: str, kind: Any, info: Param
) -> None:
    """Numbers have a range on both sides, names with a unit declare it, all have a sentence."""
    assert info.description.endswith('.')
    if kind in (int, float):
        assert info.minimum is not None
        assert info.maximum is not None
    suffix = {'_m': 'm', '_mm': 'mm', '_s': 's', '_deg': 'deg', '_m_s': 'm/s', '_deg_s': 'deg/s'}
    matching = [end for end in suffix if name.endswith(end)]
    if matching:
        assert info.unit == suffix[max(matching, key=len)]


def test_a_refusal_names_the_bad_value_and_the_valid_ones() -> None:
    """One sentence is enough to put it right."""
    assert refusal(Sample, length_m=3.0) == (
        "Bad value 3.0 of parameter 'length_m': it must be 0 to 2 m."
    )
    assert 'at least 0 m' in refusal(Sample, depth_m=-1.0)
    assert 'Known: a, b' in refusal(Sample, name='c')
    assert "Did you mean 'length_m'?" in refusal(Sample, length=1.0)


@given(st.floats())
def test_a_float_is_taken_exactly_within_its_range(value: float) -> None:
    """Every number, infinities and NaN among them, is either stored as it is or refused."""
    if 0.0 <= value <= 2.0:
        assert Sample(length_m=value).length_m == value
    else:
        refusal(Sample, length_m=value)


def test_whole_numbers_serve_as_floats_and_nothing_else_is_converted() -> None:
    """YAML writes 1 for 1.0."""
    config = Sample(length_m=1, names=['x', 'y'])  # type: ignore[arg-type]
    assert isinstance(config.length_m, float)
    assert config.names == ('x', 'y')
    refusal(Sample, count=2.0)
    refusal(Sample, flag=1)


def test_replace_checks_and_leaves_the_original() -> None:
    """Only what is named changes."""
    config = SolverConfig()
    changed = replace(config, {'user_height_m': 1.9})
    assert changed.user_height_m == 1.9
    assert replace(changed, {'user_height_m': config.user_height_m}) == config
    with pytest.raises(VrIkError):
        replace(config, {'user_height_m': 19.0})


def test_values_are_checked_against_each_other() -> None:
    """An arm span is 0 or fits the height; frames are names that tf2 takes."""
    assert SolverConfig(user_height_m=1.8, arm_span_m=1.85).arm_span_m == 1.85
    assert 'arm_span_m' in refusal(SolverConfig, user_height_m=1.8, arm_span_m=1.0)
    for frame in ('', '/vr_world', 'vr world'):
        assert 'world_frame' in refusal(TrackerConfig, world_frame=frame)
    assert 'frame_prefix' in refusal(SolverConfig, frame_prefix='/operator/')


@given(st.floats(1.0, 2.3), st.floats(0.6, 1.4))
def test_an_arm_span_is_valid_where_a_body_can_have_it(height_m: float, ratio: float) -> None:
    """What the parameters take, the human model takes, and nothing else."""
    arm_span_m = min(ratio * height_m, 2.8)
    try:
        Proportions.from_height(height_m, arm_span_m)
    except VrIkError:
        assert 'arm_span_m' in refusal(SolverConfig, user_height_m=height_m, arm_span_m=arm_span_m)
    else:
        SolverConfig(user_height_m=height_m, arm_span_m=arm_span_m)


@pytest.mark.parametrize('cls', CLASSES)
def test_the_table_has_a_row_for_each_parameter(cls: type[Config]) -> None:
    """Texts only, in the order of declaration."""
    rows = describe(cls)
    assert [row.name for row in rows] == [field.name for field in dataclasses.fields(cls)]
    assert all(isinstance(cell, str) for row in rows for cell in row)
    sample = {row.name: row for row in describe(Sample)}
    assert sample['length_m'].valid == '0 to 2'
    assert sample['names'] == (
        'names', 'list of str', '[x]', '', 'one of x, y', 'Names.', 'no'
    )  # fmt: skip
    assert sample['flag'].default == 'true'


@given(st.dictionaries(st.from_regex(r'[\w-]+', fullmatch=True), st.sampled_from('abc')))
def test_serials_with_names_are_told_in_one_text(names: dict[str, str]) -> None:
    """ROS 2 cannot type an empty list, hence the text; spaces and line ends do not matter."""
    for separator in (',', ', ', ' ,\n  '):
        text = separator.join(f'{serial} = {name}' for serial, name in names.items())
        assert key_values('roles', text) == names


@pytest.mark.parametrize('text', ['LHR-1', '=waist', 'LHR-1=', 'a=b, LHR-1', 'a=b, a=c'])
def test_a_bad_list_of_serials_is_refused(text: str) -> None:
    """With the parameter's name."""
    for name in ('roles', 'aliases', 'backend_options'):
        assert f"'{name}'" in refusal(TrackerConfig, **{name: text})


@pytest.mark.parametrize(
    'frames',
    [
        {'aliases': 'LHR-1=vr_world'},
        {'aliases': 'LHR-1=tool, LHR-2=map', 'map_frame': 'map'},
        {'aliases': 'LHR-1=map', 'map_frame': 'operator/map', 'frame_prefix': 'operator/'},
    ],
)
def test_no_alias_is_the_world_or_the_map(frames: dict[str, str]) -> None:
    """A frame that is its own parent, or has two, breaks everybody's tf tree."""
    assert "'aliases'" in refusal(TrackerConfig, **frames)
    TrackerConfig(**{**frames, 'aliases': 'LHR-1=tool'})  # type: ignore[arg-type]


@given(
    st.dictionaries(
        st.from_regex(r'[a-z_]+', fullmatch=True),
        st.integers()
        | st.floats(allow_nan=False)
        | st.booleans()
        | st.sampled_from(['euler', 'damp'])
        | st.lists(st.floats(-9.0, 9.0), min_size=2, max_size=3),
    )
)
def test_options_are_told_in_one_text(options: dict[str, Any]) -> None:
    """Numbers, names, switches, and lists of them."""
    lists = {k: v if isinstance(v, list) else [v] for k, v in options.items()}
    words = {k: ' '.join(str(each) for each in v) for k, v in lists.items()}
    text = ', '.join(
        f'{k}={v.replace("True", "true").replace("False", "false")}' for k, v in words.items()
    )
    read = option_map('solver_options', text)
    assert read == options
    assert [type(value) for value in read.values()] == [type(v) for v in options.values()]


@pytest.mark.parametrize('text', ['damping', 'damping=', 'damping=1, damping=2'])
def test_a_bad_list_of_options_is_refused(text: str) -> None:
    """With the parameter's name."""
    assert "'solver_options'" in refusal(SolverConfig, solver_options=text)


@pytest.mark.parametrize('name', ['/map', 'my map', 'vr_world'])
def test_the_map_has_a_frame_of_its_own(name: str) -> None:
    """With a name that tf2 takes."""
    assert "'map_frame'" in refusal(TrackerConfig, map_frame=name)


def write(folder: Path, text: str) -> Path:
    """Write a parameter file."""
    path = folder / 'parameters.yaml'
    path.write_text(text)
    return path


def test_a_parameter_file_is_read_as_ros_reads_it(tmp_path: Path) -> None:
    """Sections for all nodes first, then the node's own, in the namespace that it is in."""
    path = write(
        tmp_path,
        """
solver_node:
  ros__parameters:
    user_height_m: 1.9
    posture_weight: 1e-3
    use_sim_time: true
/**:
  ros__parameters:
    user_height_m: 1.6
    rate_hz: 90
/operator/tracker_node:
  ros__parameters: {seed: 7}
other_node:
  ros__parameters: {anything: goes}
""",
    )
    solver = load_config(SolverConfig, path, 'solver_node')
    assert solver == SolverConfig(user_height_m=1.9, posture_weight=1e-3)
    tracker = load_config(TrackerConfig, path, 'tracker_node')
    assert tracker == TrackerConfig(user_height_m=1.6, rate_hz=90.0, seed=7)


@pytest.mark.parametrize(
    ('text', 'reason'),
    [
        ('solver_node: {ros__parameters: {modle: full}}', "Did you mean 'model'?"),
        ('/**: {ros__parameters: {modle: full}}', "Did you mean 'model'?"),
        ('solver_node: {ros__parameters: {model: 3}}', "'model'"),
        ('solver_node: {model: full}', 'ros__parameters'),
        ('solver_node: [', 'YAML'),
        ('- a list', 'ros__parameters'),
        ('solver_node: {ros__parameters: [1]}', 'ros__parameters'),
        ('solver_node: {ros__parameters: {group: {model: full}}}', 'group.model'),
    ],
)
def test_a_bad_parameter_file_is_refused_with_its_name(
    tmp_path: Path, text: str, reason: str
) -> None:
    """The text names the file and the reason."""
    path = write(tmp_path, text)
    with pytest.raises(VrIkError) as error:
        load_config(SolverConfig, path, 'solver_node')
    assert str(path) in str(error.value)
    assert reason in str(error.value)


def test_a_missing_file_is_refused_with_its_name(tmp_path: Path) -> None:
    """No traceback of the operating system's error."""
    with pytest.raises(VrIkError, match='No such file'):
        load_config(SolverConfig, tmp_path / 'none.yaml', 'solver_node')


@pytest.mark.parametrize('path', sorted(CONFIG_FOLDER.glob('*.yaml')), ids=lambda path: path.name)
@pytest.mark.parametrize(('node_name', 'cls'), CONFIGS)
def test_the_files_of_the_package_are_valid(path: Path, node_name: str, cls: type[Config]) -> None:
    """Every file in config/ can be given to every node, in the namespaces that it has."""
    for namespace in namespaces(path, (node_name,)):
        load_config(cls, path, node_name, namespace)


@pytest.mark.parametrize('hz', [1e-6, 0.5, 2.9])
def test_vibration_is_not_as_slow_as_motion(hz):
    with pytest.raises(VrIkError, match='vibration_hz.*0, or 3 to 100 Hz'):
        SolverConfig(vibration_hz=hz)
    assert SolverConfig(vibration_hz=3.0) != SolverConfig(vibration_hz=0.0)
