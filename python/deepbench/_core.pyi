"""The native module: problems, and the runner that times them through a backend."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

version: str

class InvalidProblem(ValueError):
    """A problem line that is invalid. The text is one line."""

class BackendError(RuntimeError):
    """A backend or library that cannot be used. The text is one line with the remedy."""

@final
class Parameter:
    """One key of an operation."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str:
        """'integer', 'real' or 'choice'."""
    @property
    def default(self) -> str | None:
        """None: the parameter is required."""
    @property
    def choices(self) -> list[str]: ...
    @property
    def aliases(self) -> list[tuple[str, str]]:
        """Other spellings of choices, in lower case, each with its choice."""
    @property
    def minimum(self) -> int | float | None:
        """Least value of a number; None for a choice."""
    @property
    def maximum(self) -> int | float | None:
        """Largest value of a number; None where only its type limits it, and for a choice."""
    @property
    def synonyms(self) -> list[str]: ...
    @property
    def title(self) -> str: ...
    @property
    def help(self) -> str: ...

@final
class Operation:
    """An operation as the core describes it."""

    @property
    def name(self) -> str: ...
    @property
    def help(self) -> str: ...
    @property
    def example(self) -> str: ...
    @property
    def group_by(self) -> str:
        """The attribute over which a report may merge rows into one, or ''."""
    @property
    def aliases(self) -> list[str]:
        """Other names that the command line accepts for the operation."""
    @property
    def synonyms(self) -> list[tuple[str, str]]:
        """Words of other programs, each with the words to suggest instead."""
    @property
    def is_collective(self) -> bool:
        """Whether several ranks make a call together."""
    def default_problems(self, device: Mapping[str, object]) -> list[str]:
        """The problem lines for which the name alone stands if no suite has any, for a device with
        these facts: integers, numbers and texts count, other values are ignored."""
    @property
    def default_problems_help(self) -> str: ...
    @property
    def constants(self) -> list[str]:
        """The operands that may be constant in an application, as in constant=a."""
    @property
    def parameters(self) -> list[Parameter]: ...

@final
class Problem:
    """An operation with all of its attributes, complete and valid."""

    @staticmethod
    def parse(text: str, defaults: str = "") -> Problem:
        """Reads a problem line. `defaults` (key=value words) apply where the line states nothing;
        those that the operation does not have are ignored. Raises InvalidProblem."""
    @property
    def op(self) -> str: ...
    @property
    def attributes(self) -> dict[str, int | float | str]: ...
    @property
    def metadata(self) -> dict[str, str]: ...
    @property
    def flops(self) -> float: ...
    @property
    def bytes(self) -> float: ...
    @property
    def is_collective(self) -> bool:
        """Whether several ranks make a call together."""
    @property
    def host_elements(self) -> float:
        """The number of elements that the host generates one by one for a call; 0: few."""
    def __str__(self) -> str: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

@final
class LaunchEnvironment:
    """The rank of this process, and the number of ranks."""

    def __init__(
        self,
        rank: int,
        size: int,
        address: str,
        port: int,
        secret: str = "",
        timeout_s: float = 60,
        sockets: Sequence[int] = (),
        socket_path: str = "",
    ) -> None:
        """`sockets`: descriptors of connected sockets, which the rendezvous takes over: on rank 0
        one to each other rank, on another rank one to rank 0. Without them the ranks connect to
        `socket_path`, the Unix socket of ranks of one machine, or else to `address` and
        `port`."""
    @property
    def rank(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def launcher(self) -> str: ...
    @property
    def socket_path(self) -> str: ...
    @property
    def meets_by_mpi(self) -> bool:
        """Whether the ranks learn by MPI where rank 0 listens: open_rendezvous() starts MPI."""
    timeout_s: float

@final
class Group:
    """The connected ranks of a run."""

    @property
    def rank(self) -> int: ...
    @property
    def size(self) -> int: ...
    def limit_silence_of_rank_zero(self, seconds: float) -> None:
        """Limits the time for which this rank waits within a row for an answer of rank 0, which
        then counts as lost."""
    def close_connection(self, rank: int) -> None:
        """On rank 0: closes the connection to a rank whose process has ended, which a process that
        it has forked may hold open."""
    def wait_for_disconnect(self) -> str:
        """Blocks until a rank is gone and this rank is stuck in a row with it, and returns the
        reason. Returns '' at the end of the group."""
    def end(self) -> None:
        """Tells the other ranks, and wait_for_disconnect(), that the group ends."""

@final
class Rendezvous:
    """Connects the ranks of a run."""

    def __init__(self, environment: LaunchEnvironment, command: str, version: str = ...) -> None:
        """Rank 0 listens from here on. `command` and `version` must be the same on all ranks."""
    @property
    def port(self) -> int: ...
    def warning(self) -> str:
        """A line for the user if other machines can join or end the run, because there is no
        secret; '' otherwise."""
    def wait(self) -> Group:
        """The group, once all ranks are connected. Raises BackendError on all of them."""

def open_rendezvous(
    environment: LaunchEnvironment, command: str, end_process: Callable[[str], object]
) -> Rendezvous:
    """The rendezvous of a launched rank, which the main thread opens. Raises BackendError. If MPI
    does not bring the ranks together in time, another thread calls `end_process` with the reason,
    which must end the process."""

def launch_environment() -> LaunchEnvironment | None:
    """The rank that the variables of torchrun, srun or mpirun state; None without a launcher.
    Raises BackendError for contradictory variables."""

def rendezvous_timeout_s() -> float:
    """The seconds in which all ranks must connect: DEEPBENCH_RENDEZVOUS_TIMEOUT or the default."""

@final
class Runner:
    """A backend that is ready to run problems one after the other."""

    def __init__(
        self,
        backend: str,
        options: str = "",
        plugin_paths: Sequence[str] = (),
        group: Group | None = None,
    ) -> None:
        """`backend` is 'auto', a name, or a plugin's path; `options` are key=value words for
        every row. Raises BackendError, or ValueError for an option."""
    def follow_rank_zero(self) -> None:
        """Only for ranks other than 0: makes the rows that rank 0 runs, until it has no more.
        Raises RuntimeError when a rank is lost."""
    def hello(self) -> str:
        """The hello message as a line of JSON."""
    def run(self, line: str, position: int) -> str:
        """The JSON row of 'PROBLEM' or 'PROBLEM ; OPTIONS'. Never raises for a bad problem."""
    def on_admitted(self, call: Callable[[], None]) -> None:
        """Sets a function that is called when the backend can run a row, before the row is
        measured."""
    def on_measuring_ceiling(self, call: Callable[[str, str], None]) -> None:
        """Sets a function `call(problem, row)` that is called before each problem of a ceiling.
        `row` is, the first time in a row, what has been measured, as JSON. After each problem it is
        called with two empty texts."""
    def on_ceiling(self, call: Callable[[str], object]) -> None:
        """Sets a function that is called with each ceiling as JSON, as soon as it is measured or
        raised."""
    def run_chain(self, line: str) -> str:
        """The line of a chain as JSON, from 'chain 0 1 0 ; PROBLEM ; PROBLEM'. Never raises for a
        chain that cannot be run."""

    def give_ceiling(self, line: str) -> None:
        """Takes over a ceiling of another process, 'ceiling KEY ; figure=NUMBER raised=NUMBER', of
        which one may be absent. Must be called before the first row. Raises InvalidProblem."""
    def release(self) -> None:
        """Destroys the kernel of the last row, which otherwise lives until the next row."""
    def wait_for_ranks(self) -> None:
        """On rank 0, waits until all other ranks are ready for the next row. Raises RuntimeError
        when a rank is lost."""
    @property
    def device_lost(self) -> bool: ...

def failed_row(
    problem: str,
    *,
    position: int,
    status: str,
    reason: str,
    worker: str = "",
    backend: str = "",
    device: int | None = None,
    device_name: str = "",
) -> str:
    """The JSON row of a problem that no worker answered. `problem` is a problem line with its
    metadata; `worker` is crashed, hung, killed, stopped or skipped, or '' if it still runs. Raises
    InvalidProblem, or ValueError for an unknown status."""

def line_of_members(members: Mapping[str, object]) -> str: ...
def with_bound_figures(row: str, figures: dict[str, Any]) -> str:
    """The JSON row whose bound also has these members: the figures of its ceilings and its shares.
    Raises ValueError for other text."""

def sample_index(i: int, kept: int, all: int) -> int: ...
def with_note(row: str, note: str) -> str:
    """The JSON row with one more note. Raises ValueError for other text."""

def combine_visits(rows: Sequence[Sequence[str]]) -> list[str]:
    """The JSON rows, each from the list of its visits, which are JSON rows that are ok. Times are
    in nanoseconds. Raises ValueError for other text and for an empty list."""

def student_quantile(degrees: float) -> float:
    """Student's quantile of 97.5 % for any positive degrees of freedom, infinity included."""

def visit_line(row: str, visit: int) -> str:
    """The line of a visit, from the JSON row that was measured."""

def row_of_visit(visit: str) -> str:
    """The JSON row in the line of a visit. Raises ValueError for other text."""

def thinned(row: str, most: int) -> str:
    """The JSON row with at most `most` raw samples, an even selection, marked as thinned. Raises
    ValueError for other text."""

def operations() -> list[Operation]: ...
def asks_for_chain(line: str) -> bool:
    """Whether a line of the row protocol asks for a chain rather than for a row."""

def gives_ceiling(line: str) -> bool:
    """Whether a line of the row protocol gives a ceiling rather than a problem."""

def assess(
    flops: float,
    bytes: float,
    median_ns: float,
    level: str,
    arithmetic_tflops: float | None,
    memory_gbps: float | None,
    latency_ns: float | None,
    transform_factor: float = 1.0,
    steps: float = 0.0,
    step_ns: float | None = None,
) -> dict[str, str | float | None]:
    """The limit that bounds a row with this work and time, and its shares of the ceilings: `by`,
    the four figures, `share_arithmetic` and `share_roofline`. A ceiling that is None is unknown.
    One operation of the algorithm replaces at most `transform_factor` of the `flops`, and `steps`
    follow one another."""

def check_options(text: str) -> None:
    """Raises ValueError, in one line, for an unknown or bad key=value option."""

def option_values(text: str) -> dict[str, str | None]:
    """Every option that holds for all rows of a run, with the value that it has after `text`; None:
    the backend decides, or there is no value. Raises ValueError as check_options does."""

def backends(plugin_paths: Sequence[str] = ()) -> list[tuple[str, str]]:
    """(name, path) of every plugin found; nothing is loaded."""

def search_warnings() -> list[str]:
    """Places in DEEPBENCH_BACKEND_PATH that hold no backend, one line each."""

def inspect(name_or_path: str, plugin_paths: Sequence[str] = ()) -> str:
    """JSON like the hello message with all devices, and with a reason if the backend cannot be
    used. Never raises."""

def package_directory() -> str:
    """Where libdeepbench, the plugins, include/ and lib/cmake/ are."""
