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

"""Pictures by matplotlib, which is an extra: it is imported where a picture is asked for."""

from pathlib import Path
from typing import Any

from vr_ik.errors import MissingDependencyError

_DPI = 80


def pyplot() -> Any:
    """Return matplotlib.pyplot, drawing to files only, or raise `MissingDependencyError`."""
    try:
        import matplotlib

        matplotlib.use('Agg')
        from matplotlib import pyplot
    except ImportError:
        raise MissingDependencyError(
            "Plots need matplotlib: pip install 'vr_ik[plots]', or pip install matplotlib."
        ) from None
    return pyplot


def legend_beside(axes: Any) -> None:
    """Name the curves to the right of them, where they hide nothing."""
    axes.legend(fontsize='small', loc='center left', bbox_to_anchor=(1.0, 0.5))


def save(figure: Any, folder: Path, name: str) -> Path:
    """Write a figure to `folder`/`name`.png, close it, and return the path."""
    path = folder / f'{name}.png'
    figure.tight_layout()
    figure.savefig(path, dpi=_DPI)
    pyplot().close(figure)
    return path
