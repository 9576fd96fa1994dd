"""Seeing it: what a graph saves and why, every pack and unpack, and memory rising and falling.

Four reports, each readable as text, and as a table or a diagram in JupyterLab:

- `saved(y)`: one row for each saved tensor, and the bytes that they keep together;
- `graph(y)`: the operations, their edges, and the saved tensors with their bytes;
- `with trace() as t`: forward, save, pack, unpack, release, backward, … in order;
- `with timeline() as t`: live bytes of the simulated accelerator, its peak, its streams.

Pictures are drawn by the reports' `plot` methods into axes that they return; `show` ends a cell
with one. They need matplotlib, which nothing else here does.
"""

from ..completion import public_names
from .comparisons import Curves, Score, Scoreboard, Tradeoff
from .figures import Picture, new_axes, new_figure, show
from .files_alive import FilesAlive, files_alive, plot_files
from .graph_diagram import GraphDiagram, graph
from .hook_trace import Trace, trace
from .memory_plots import gallery
from .memory_series import Peak, Series
from .memory_strip import MemoryStrip, memory_strip
from .memory_timeline import Timeline, timeline
from .saved_report import SavedRecord, SavedReport, saved
from .stream_plots import plot_copied
from .trace_event import TraceEvent
from .version_lines import VersionLines, version_lines

__all__ = [
    "Curves",
    "FilesAlive",
    "GraphDiagram",
    "MemoryStrip",
    "Peak",
    "Picture",
    "SavedRecord",
    "SavedReport",
    "Score",
    "Scoreboard",
    "Series",
    "Timeline",
    "Trace",
    "TraceEvent",
    "Tradeoff",
    "VersionLines",
    "files_alive",
    "gallery",
    "graph",
    "memory_strip",
    "new_axes",
    "new_figure",
    "plot_copied",
    "plot_files",
    "saved",
    "show",
    "timeline",
    "trace",
    "version_lines",
]

__dir__ = public_names(__name__)
