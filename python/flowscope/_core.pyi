"""
FlowScope's engine. Use the flowscope package; names here are not a public interface.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
import os
from typing import Any, overload

import numpy

version: str = "0.1.0"

class LiveOp:
    """
    What a predicate is shown of an op that has just run. Its value is not there: whether to keep it is what the predicate decides.

        >>> fs.where(lambda op: op.type == "MatMul" and op.pass_index == 1)

    By values, ask the finished trace: ``[op for op in trace if op.stats]``.
    """

    @property
    def label(self) -> str:
        """With the pass; the same during the run and after."""

    @property
    def layer_label(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def module(self) -> str | None:
        """Address of the innermost module; None outside every module."""

    @property
    def modules(self) -> list[str]:
        """Labels of the open module calls, from the outermost in."""

    @property
    def pass_index(self) -> int: ...
    @property
    def iteration(self) -> int | None:
        """Number of the innermost loop iteration, from 0."""

    @property
    def region(self) -> str:
        """Region path without iteration numbers."""

    @property
    def attrs(self) -> dict[str, Any]: ...
    def __getattr__(self, arg: str, /) -> None: ...
    def __repr__(self) -> str: ...

class Selector:
    """
    Says which ops are meant; made by the functions of flowscope.sites.

        >>> scores = fs.func("softmax") & fs.in_module("encoder.*")
        >>> trace = fs.trace(model, x, save=scores)
        >>> trace.find_sites(scores)
    """

    def __and__(self, other: object | None) -> Selector: ...
    def __rand__(self, other: object | None) -> Selector: ...
    def __or__(self, other: object | None) -> Selector: ...
    def __ror__(self, other: object | None) -> Selector: ...
    def __sub__(self, other: object | None) -> Selector: ...
    def __rsub__(self, other: object | None) -> Selector: ...
    def __invert__(self) -> Selector: ...
    def __bool__(self) -> bool: ...
    def __repr__(self) -> str: ...
    @property
    def answers_live(self) -> bool:
        """False for what can only be told of a finished trace."""

def select_all() -> Selector:
    """Every op."""

def label(text: str) -> Selector:
    """The op or layer with that label: "matmul_2_7:1", "matmul_2"."""

def func(type: str) -> Selector:
    """Ops of a type, case ignored; globs: "conv*"."""

def module(address: str) -> Selector:
    """Ops whose innermost module it is; globs, "address:call"."""

def in_module(address: str) -> Selector:
    """Ops in a module or in one inside it; globs, "address:call"."""

def contains(text: str) -> Selector:
    """Ops with the text in their label or module address."""

def regex(pattern: str) -> Selector:
    """Ops whose label or module address has a match."""

def text(text: str) -> Selector:
    """What a plain string means: a module's output or a label; globs."""

def where(predicate: Callable, name_hint: str | None = None) -> Selector:
    """Ops for which a function of a LiveOp says true."""

def output(address: str | None = None) -> Selector:
    """
    Ops that made an output of the recorded call, or of the module at an address.
    """

def module_output(address: str) -> Selector:
    """Ops that made an output of a module."""

def followed_by(next: object | None) -> Selector:
    """Ops with a child that matches."""

def preceded_by(previous: object | None) -> Selector:
    """Ops with a parent that matches."""

def iteration(index: int) -> Selector:
    """Ops of one iteration of their innermost loop, counted from 0."""

def passes(*numbers: int | Iterable[int]) -> Selector:
    """Those passes of every layer, counted from 1."""

def line(number: int, file: str = "") -> Selector:
    """
    Ops that a line of the user's code asked for; `file` may be the end of a path.
    """

def attr(name: str, value: object | None = "*") -> Selector:
    """
    Ops with that attribute value, given as it is or as printed; globs. Without a value, ops that have the attribute.
    """

def raise_predicate_error() -> None:
    """Raises the exception that a predicate raised on this thread, if any."""

class CodeLocation:
    """
    The line of the user's code that asked for an op.

        >>> at = op.code_context[0]
        >>> print(at.file, at.line_number, at.code)
    """

    @property
    def file(self) -> str: ...
    @property
    def line_number(self) -> int: ...
    @property
    def func_name(self) -> str: ...
    @property
    def code(self) -> str:
        """The text of the line; empty where it is not known."""

    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __repr__(self) -> str: ...

class Input:
    """
    What an op took at one position.

        >>> first = trace["matmul_1"].inputs[0]
        >>> first.edge_class, first.op, first.value
    """

    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __repr__(self) -> str: ...
    def __str__(self) -> str: ...
    @property
    def value(self) -> numpy.ndarray:
        """The value, read-only and without a copy."""

    @property
    def edge_class(self) -> str:
        """
        Where the value comes from: op, input, constant, literal, from_python, variable, resource or unexplained.
        """

    @property
    def op(self) -> Op | None:
        """The op or source that made it; None for literals and handles."""

    @property
    def variable(self) -> Variable | None:
        """The variable that a handle names; None for others."""

    @property
    def index(self) -> int:
        """Position among the op's inputs."""

    @property
    def output_index(self) -> int | None:
        """Which output of `op` it is."""

    @property
    def shape(self) -> tuple[int, ...] | None: ...
    @property
    def dtype(self) -> str | None: ...
    @property
    def handle(self) -> int:
        """
        Identity of the handle that TensorFlow passed, for telling two values apart.
        """

    def __array__(self, dtype: object | None = None, copy: object | None = None) -> object: ...

class Op:
    """
    One execution of one op.

        >>> op = trace["relu_1"]
        >>> print(op)            # glance of the value, parents, module, line
        >>> op.out.max(), op.parents, op.module.address
    """

    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __repr__(self) -> str: ...
    def __str__(self) -> str: ...
    @property
    def label(self) -> str:
        """Label with the pass: "matmul_2_7:1"."""

    @property
    def layer_label(self) -> str: ...
    @property
    def label_short(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def kind(self) -> str:
        """
        compute, input, constant, literal_producer, variable_read, variable_write, random, iterator, from_python, call, backward, intervention or effect.
        """

    @property
    def name(self) -> str | None:
        """Of sources: the argument's path or the constant's name."""

    @property
    def site_key(self) -> tuple[str, str, str, int]:
        """
        (region path, module address, op type, n): the same in every run of the same code.
        """

    @property
    def layer(self) -> Layer: ...
    @property
    def pass_index(self) -> int: ...
    @property
    def num_passes(self) -> int: ...
    @property
    def index(self) -> int:
        """Position in the trace: `trace[op.index] == op`."""

    @property
    def out(self) -> numpy.ndarray:
        """The first output: a read-only NumPy view, no copy."""

    @property
    def outs(self) -> list[numpy.ndarray | None]:
        """
        All outputs; None for resource handles and variants, which have no value.
        """

    @property
    def num_outputs(self) -> int: ...
    @property
    def shape(self) -> tuple[int, ...] | None: ...
    @property
    def dtype(self) -> str | None: ...
    @property
    def stats(self) -> dict[str, Any]:
        """Statistics of the first output, over its finite elements."""

    @property
    def nbytes(self) -> int:
        """Bytes of all outputs."""

    @property
    def inputs(self) -> list[Input]: ...
    @property
    def literals(self) -> dict[int, Any]:
        """Rank-zero values wrapped for this call, by input index."""

    @property
    def attrs(self) -> dict[str, Any]:
        """Attributes by name, decoded."""

    @property
    def parents(self) -> list[Op]:
        """Ops and sources that made the inputs, each once."""

    @property
    def children(self) -> list[Op]:
        """Ops that took an output."""

    @property
    def module(self) -> Module | None:
        """The innermost module; None outside every module."""

    @property
    def gradient_of(self) -> Module | None:
        """
        Of an op of a backward pass inside a function: the module whose op it differentiates; None elsewhere.
        """

    @property
    def module_call(self) -> ModuleCall | None: ...
    @property
    def modules(self) -> list[str]:
        """Labels of the open module calls, from the outermost in."""

    @property
    def region(self) -> Region: ...
    @property
    def iteration(self) -> int | None:
        """Number of the innermost loop iteration, from 0."""

    @property
    def variables(self) -> list[Variable]:
        """Variables that the op read or wrote."""

    @property
    def code_context(self) -> list[CodeLocation]:
        """The user's line, as a list of one; empty where it was not recorded."""

    @property
    def possible_origins(self) -> list[Op]:
        """Of from_python: ops whose value, read into Python before, was equal."""

    @property
    def device(self) -> str: ...
    @property
    def duration(self) -> float:
        """Seconds."""

    @property
    def start(self) -> float:
        """Seconds since the recording began."""

    @property
    def thread(self) -> int: ...
    @property
    def run_counter(self) -> int:
        """1, 2, 3 ... over executed ops; 0 for sources."""

    @property
    def opaque(self) -> bool: ...
    @property
    def opaque_reason(self) -> str | None:
        """Why what ran inside is not recorded."""

    @property
    def error(self) -> str | None: ...
    @property
    def flops(self) -> int | None:
        """Floating point operations by formula; None where there is no formula."""

class Layer:
    """
    One place in the code, with all its passes.

        >>> layer = trace.layers["matmul_1"]
        >>> layer.num_passes, [op.out for op in layer.ops]

    A layer with one pass has its op's attributes too.
    """

    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __repr__(self) -> str: ...
    def __str__(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def label_short(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def ops(self) -> list[Op]: ...
    @property
    def num_passes(self) -> int: ...
    @property
    def module(self) -> Module | None:
        """The innermost module; None outside every module."""

    @property
    def module_address(self) -> str:
        """Address of that module; "self" outside every module."""

    @property
    def out(self) -> numpy.ndarray:
        """The value, where the layer ran once."""

    @property
    def outs(self) -> list[numpy.ndarray]:
        """The value of each pass."""

    @property
    def shape(self) -> tuple[int, ...] | None:
        """Of the first pass."""

    @property
    def dtype(self) -> str | None:
        """Of the first pass."""

    @property
    def parents(self) -> list[Op]:
        """Over all passes, each op once."""

    @property
    def children(self) -> list[Op]:
        """Over all passes, each op once."""

    def __getattr__(self, name: str) -> Any: ...

class ModuleCall:
    """
    One call of a module.

        >>> call = trace["dense:2"]
        >>> call.inputs[0].shape, call.out, call.training
    """

    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __repr__(self) -> str: ...
    def __str__(self) -> str: ...
    @property
    def call_label(self) -> str:
        """ "encoder.attention:2"."""

    @property
    def call_index(self) -> int: ...
    @property
    def module(self) -> Module: ...
    @property
    def parent(self) -> ModuleCall | None:
        """The call inside which this one ran."""

    @property
    def region(self) -> Region: ...
    @property
    def kwargs(self) -> str:
        """The arguments that are not tensors, as text."""

    @property
    def training(self) -> bool | None:
        """
        The flag that the call really got; None where it got None or has no such argument (`training_text` tells which).
        """

    @property
    def training_text(self) -> str: ...
    @property
    def method(self) -> str:
        """ "__call__", or "call" where only that ran."""

    @property
    def duration(self) -> float:
        """Seconds."""

    @property
    def start(self) -> float:
        """Seconds since the recording began."""

    @property
    def failed(self) -> bool: ...
    @property
    def inputs(self) -> list[numpy.ndarray]:
        """Values of the tensors that the call got."""

    @property
    def input_paths(self) -> list[str]:
        """
        Where in the arguments each input stands: "args[0]", "args[1]['mask']".
        """

    @property
    def input_ops(self) -> list[Op]: ...
    @property
    def outputs(self) -> list[numpy.ndarray]:
        """Values of the tensors that it gave back."""

    @property
    def outs(self) -> list[numpy.ndarray]:
        """The same as `outputs`."""

    @property
    def output_paths(self) -> list[str]: ...
    @property
    def output_ops(self) -> list[Op]: ...
    @property
    def out(self) -> numpy.ndarray:
        """The first output."""

    @property
    def ops(self) -> list[Op]:
        """Ops that ran inside, those of modules called inside included."""

class Module:
    """
    A Keras layer or operation, or a tf.Module.

        >>> module = trace["encoder.blocks.3"]
        >>> module.class_name, module.num_params, module.out.shape

    A module that ran several times has no single `out`: ask its calls.
    """

    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __repr__(self) -> str: ...
    def __str__(self) -> str: ...
    @property
    def address(self) -> str:
        """Attribute path from the root: "encoder.norm"."""

    @property
    def addresses(self) -> list[str]:
        """Every address by which it can be reached, the chosen one first."""

    @property
    def class_name(self) -> str: ...
    @property
    def name(self) -> str:
        """The object's own name."""

    @property
    def config(self) -> dict[str, Any]:
        """Its configuration; empty where it gives none."""

    @property
    def children(self) -> list[Module]:
        """Modules that it holds directly."""

    @property
    def parent(self) -> Module | None: ...
    @property
    def variables(self) -> list[Variable]:
        """Its variables and those of the modules inside, its own first."""

    @property
    def own_variables(self) -> list[Variable]:
        """Without those of the modules inside."""

    @property
    def num_params(self) -> int: ...
    @property
    def num_trainable_params(self) -> int: ...
    @property
    def calls(self) -> list[ModuleCall]: ...
    @property
    def num_calls(self) -> int: ...
    @property
    def out(self) -> numpy.ndarray:
        """The first output of its one call."""

    @property
    def outs(self) -> list[numpy.ndarray]:
        """The first output of each call."""

    @property
    def out_shape(self) -> tuple[int, ...] | None:
        """Shape of the first call's first output."""

    @property
    def inputs(self) -> list[numpy.ndarray]:
        """Values that its one call got."""

    @property
    def outputs(self) -> list[numpy.ndarray]:
        """Values that its one call gave back."""

    @property
    def ops(self) -> list[Op]:
        """Ops of all calls, those of modules called inside included."""

    @property
    def layers(self) -> list[Layer]:
        """The layers of `ops`, each once."""

class VariableVersion:
    """
    One value in a variable's history.

        >>> [(v.index, v.writer) for v in variable.versions]
    """

    @property
    def index(self) -> int:
        """0 is the value from before the run."""

    @property
    def writer(self) -> Op | None:
        """The op that wrote it; None where it came from outside."""

    @property
    def value(self) -> numpy.ndarray: ...
    @property
    def variable(self) -> Variable: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __repr__(self) -> str: ...

class Variable:
    """
    A variable and its history in this run.

        >>> kernel = trace["dense.kernel"]
        >>> kernel.value.mean(), len(kernel.versions), kernel.writes
    """

    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __repr__(self) -> str: ...
    def __str__(self) -> str: ...
    @property
    def address(self) -> str: ...
    @property
    def addresses(self) -> list[str]:
        """Every address by which it can be reached, the chosen one first."""

    @property
    def name(self) -> str: ...
    @property
    def shape(self) -> tuple[int, ...] | None: ...
    @property
    def dtype(self) -> str: ...
    @property
    def trainable(self) -> bool: ...
    @property
    def module(self) -> Module | None:
        """The module that owns it."""

    @property
    def versions(self) -> list[VariableVersion]:
        """Every value it had, in order."""

    def value_at(self, index: int) -> numpy.ndarray:
        """The value of a version; negative from the end."""

    @property
    def value(self) -> numpy.ndarray:
        """The value at the end of the run."""

    @property
    def initial_value(self) -> numpy.ndarray:
        """The value from before the run."""

    @property
    def reads(self) -> list[Op]:
        """Ops that read it."""

    @property
    def writes(self) -> list[Op]:
        """Ops that wrote it."""

class Region:
    """
    A function call, a loop iteration or a branch.

        >>> op.region.kind, op.region.path, op.region.index
    """

    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __repr__(self) -> str: ...
    def __str__(self) -> str: ...
    @property
    def kind(self) -> str:
        """root, function, iteration, branch, backward or tracing."""

    @property
    def name(self) -> str:
        """Of a function, its name; of a branch, which."""

    @property
    def path(self) -> str:
        """From the root, such as "f/while[3]/cond:true"; empty for the root."""

    @property
    def index(self) -> int:
        """Number of the iteration or branch, from 0."""

    @property
    def parent(self) -> Region | None: ...
    @property
    def children(self) -> list[Region]: ...
    @property
    def predicate(self) -> Any:
        """
        The value that chose this branch or iteration; None where there is none.
        """

    @property
    def op(self) -> Op | None:
        """The op that opened it."""

    @property
    def ops(self) -> list[Op]:
        """Ops inside, those of regions inside included."""

class Accessor:
    """
    Records of one kind. Index by position, slice or name; iterating gives the records.

        >>> trace.ops[0], trace.ops["matmul_1"], trace.ops[-3:]
        >>> [module.address for module in trace.modules]
        >>> trace.layers.find("conv")
    """

    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, key: int, /) -> Any: ...
    @overload
    def __getitem__(self, key: str, /) -> Any: ...
    @overload
    def __getitem__(self, key: slice, /) -> list[Any]: ...
    def __contains__(self, key: object, /) -> bool:
        """True for an exact name of a record, and for a record of this table."""

    def __iter__(self) -> Iterator[Any]: ...
    def __repr__(self) -> str: ...
    def keys(self) -> list[str]:
        """Labels, addresses or paths, in order."""

    def values(self) -> list[Any]: ...
    def items(self) -> list[tuple[str, Any]]: ...
    def head(self, n: int = 5) -> list[Any]:
        """The first `n` records."""

    def find(self, text: str) -> list[Any]:
        """
        Records with `text` in a name, case ignored; an empty list where there is none.
        """

    def to_pandas(self) -> Any:
        """The records as a pandas.DataFrame."""

class Table:
    """
    A table that pyarrow, polars and duckdb read without a copy in between.

        >>> pyarrow.table(trace.to_arrow())
        >>> trace.stats().to_pandas().sort_values("max")
    """

    def __len__(self) -> int: ...
    def __repr__(self) -> str: ...
    def __getitem__(self, name: str, /) -> list[Any]: ...
    @property
    def columns(self) -> list[str]: ...
    def to_dict(self) -> dict[str, list[Any]]:
        """Columns as lists, None where a row has no value."""

    def to_pandas(self) -> Any:
        """A pandas.DataFrame."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...

class NonFiniteParent:
    """
    One input of the op in which the first NaN or Inf appeared.

        >>> [(p.name, p.element) for p in trace.first_nonfinite().parents]
    """

    @property
    def op(self) -> Op | None:
        """None for literals and for a variable's value from before the run."""

    @property
    def name(self) -> str: ...
    @property
    def glance(self) -> str:
        """The value in one line."""

    @property
    def element(self) -> str:
        """What stands at the same place; empty where the shapes do not match."""

    def __repr__(self) -> str: ...

class NonFinite:
    """
    Where the first NaN or Inf starts.

        >>> first = trace.first_nonfinite()
        >>> print(first)
        >>> first.op, first.element, first.cause
    """

    @property
    def op(self) -> Op:
        """The first op to end with a NaN or Inf."""

    @property
    def element(self) -> tuple:
        """Coordinates of the first bad element of its output."""

    @property
    def value(self) -> float | complex:
        """That element."""

    @property
    def cause(self) -> str:
        """Why, in one sentence."""

    @property
    def parents(self) -> list[NonFiniteParent]:
        """The op's inputs."""

    @property
    def chain(self) -> list[Op]:
        """Later ops that the bad values reach, in order."""

    @property
    def first_nan(self) -> Op | None:
        """The first op with a NaN; None where there are only infinities."""

    @property
    def nan_cause(self) -> str: ...
    def __repr__(self) -> str: ...
    def __str__(self) -> str: ...
    @property
    def nan(self) -> int: ...
    @property
    def pos_inf(self) -> int: ...
    @property
    def neg_inf(self) -> int: ...
    @property
    def scanned(self) -> int:
        """Values that were looked at."""

    @property
    def skipped(self) -> int:
        """Values that were not kept, so that nobody knows."""

class ValidationFinding:
    """One thing that is wrong or not proved."""

    @property
    def check(self) -> str:
        """The check that found it."""

    @property
    def label(self) -> str | None:
        """Label of the op; None where it is about the whole trace."""

    @property
    def message(self) -> str: ...
    def __str__(self) -> str: ...
    def __repr__(self) -> str: ...

class ValidationReport:
    """
    Whether running the record again gave the same values.

    True where the state is passed.
    """

    @property
    def state(self) -> str:
        """passed, failed, unverified or unavailable."""

    @property
    def reason(self) -> str:
        """Why the state is what it is, in one sentence."""

    @property
    def coverage(self) -> dict[str, int]:
        """Rows of the trace by kind of proof."""

    @property
    def failures(self) -> list[ValidationFinding]:
        """What contradicts the record."""

    @property
    def unverified(self) -> list[ValidationFinding]:
        """What could not be proved, and why."""

    @property
    def declared(self) -> list[ValidationFinding]:
        """
        Ops that ran and whose values are taken as they stand: look-ups in tables, draws of stateful kernels, elements of datasets.
        """

    @property
    def first_difference(self) -> str | None:
        """
        The first op that is equal only within the tolerance, and how far; None where all bits are equal.
        """

    def __bool__(self) -> bool: ...
    def __str__(self) -> str: ...
    def __repr__(self) -> str: ...

class Trace:
    """
    One recorded run.

        >>> trace = fs.trace(model, x)
        >>> print(trace)                     # layers, then what was counted
        >>> trace["dense"].out               # by address, label, alias or part of one
        >>> trace.find_sites(fs.func("relu"))
        >>> trace.first_nonfinite()
    """

    @property
    def ops(self) -> Accessor:
        """Every op and source, in the order in which they started."""

    @property
    def layers(self) -> Accessor:
        """Every place in the code, with its passes."""

    @property
    def modules(self) -> Accessor:
        """Every module, those that did not run too."""

    @property
    def module_calls(self) -> Accessor:
        """Every call of a module."""

    @property
    def variables(self) -> Accessor:
        """Every variable, with its history."""

    @property
    def regions(self) -> Accessor:
        """Function calls, iterations and branches."""

    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, key: int, /) -> Op: ...
    @overload
    def __getitem__(self, key: str, /) -> Any: ...
    @overload
    def __getitem__(self, key: slice, /) -> list[Op]: ...
    @overload
    def __getitem__(self, key: object, /) -> Any: ...
    def __contains__(self, key: object, /) -> bool:
        """
        True for an exact label, address, alias or path, and for a record of this trace.
        """

    def __iter__(self) -> Iterator[Op]: ...
    def __repr__(self) -> str: ...
    def __str__(self) -> str: ...
    def summary(
        self,
        level: str = "auto",
        view: str = "overview",
        max_rows: int | None = 60,
        depth: int | None = None,
        fold_repeats: bool = True,
    ) -> str:
        """
        The run as text. level: auto, module, op; view: overview, compute; max_rows and depth: None for all.
        """

    def to_pandas(self, kind: str = "ops") -> Any:
        """
        A pandas.DataFrame of ops, layers, modules, module_calls, variables or regions.
        """

    def to_arrow(self, kind: str = "ops") -> Table:
        """
        The same for whatever reads the Arrow PyCapsule interface: pyarrow, polars, duckdb.
        """

    def find_sites(self, sites: Any) -> list[Op]:
        """
        Ops that a selector, address, label or glob means, in order of execution.
        """

    @property
    def output(self) -> Any:
        """
        What the recorded call returned. Of a trace from a file: the same structure with NumPy
        arrays in place of tensors, fs.Parts for ragged, sparse and other composites, and
        fs.Described for what is no value.
        """

    @property
    def name(self) -> str: ...
    @property
    def root_kind(self) -> str:
        """keras, tf_module, function, concrete_function, saved_model or block."""

    @property
    def root_class(self) -> str:
        """Class of what was recorded."""

    @property
    def recorder(self) -> str:
        """What recorded: hook or callbacks."""

    @property
    def tensorflow_version(self) -> str: ...
    @property
    def keras_version(self) -> str: ...
    @property
    def started_at(self) -> str:
        """ISO 8601, UTC."""

    @property
    def duration(self) -> float:
        """Seconds."""

    @property
    def degraded(self) -> str | None:
        """Why later values became statistics; None where none did."""

    @property
    def error(self) -> str | None:
        """What the model raised; None where it did not."""

    @property
    def halted(self) -> bool: ...
    @property
    def interrupted(self) -> bool: ...
    @property
    def notes(self) -> list[str]:
        """What this recording could not see, one sentence each."""

    @property
    def compiled_differences(self) -> list[dict[str, Any]]:
        """
        With compare_compiled=True, for each output of each call that was opened: how far the compiled function's value is from it. Keys: call, output, num_elements, num_different (bits), max_abs, max_rel.
        """

    @property
    def completeness(self) -> dict[str, Any]:
        """
        Inputs counted by where they come from, and what is not told: unexplained inputs, opaque ops, notes.
        """

    @property
    def num_ops(self) -> int:
        """Executed ops; sources are not counted."""

    @property
    def num_layers(self) -> int: ...
    @property
    def num_modules(self) -> int: ...
    @property
    def num_params(self) -> int | None:
        """None where a variable's shape is unknown."""

    @property
    def num_trainable_params(self) -> int | None: ...
    @property
    def total_activation_memory(self) -> int:
        """
        Bytes of what ops computed: sources and variable accesses are not counted.
        """

    def op_counts(self) -> dict[str, int]:
        """Executed ops by type."""

    @property
    def inputs(self) -> list[Op]:
        """Arguments of the recorded call, as ops of kind input."""

    @property
    def outputs(self) -> list[Op]:
        """Ops that made what the recorded call returned."""

    @property
    def sources(self) -> list[Op]:
        """
        Inputs, constants, literal producers, random ops, iterator elements, values from Python and variable reads.
        """

    @property
    def edges(self) -> list[tuple[str | None, str, int, str]]:
        """
        (parent's label, child's label, input index, edge class); the parent is None for literals and handles.
        """

    def stack(self, sites: Any) -> numpy.ndarray:
        """Values of the ops that a selector means, stacked on a new first axis."""

    def values_at(self, sites: Any) -> dict[str, numpy.ndarray]:
        """
        Values by name: of a module what it gave back (of several calls "address:1", ...), of an op its output; a glob or selector gives one entry for each match.
        """

    def ancestors(self, op: Op | Layer | Module | ModuleCall | str) -> list[Op]:
        """
        Ops and sources that the value of `op` depends on, in order of execution.
        """

    def stats(self) -> Table:
        """Statistics of every value, as a Table: one row per output of an op."""

    def timeline(self) -> Table:
        """When each executed op started and how long it took, as a Table."""

    def cost(self) -> dict[str, Any]:
        """
        Floating point operations by formula and bytes moved: the whole run's, and by module.
        """

    def first_nonfinite(self) -> NonFinite | None:
        """
        Where the first NaN or Inf starts, why, and what it reaches; None where all values are finite.
        """

    def lint(self) -> list[str]:
        """
        One sentence per broken invariant of the record; empty for a sound trace.
        """

    def validate(
        self, perturb: bool = False, tolerance: Any = None, progress: Any = None
    ) -> ValidationReport:
        """
        Run every op again from the record and compare, and check what the record says twice.

        Runs in a TensorFlow context of its own: variables, seeds, datasets and kernels of the
        program stay as they are. perturb: move each input and see that the outputs move.
        tolerance: None compares bits where the trace comes from this TensorFlow, else within
        the bounds of docs/validation.md; a number is the relative difference that is allowed,
        a dict gives (relative, absolute) by dtype. progress: True shows a bar, or a callable
        that is given the ops done and all.

            >>> trace.validate().state
            'passed'
        """

    def run(
        self,
        model: Any,
        input_args: Any = None,
        input_kwargs: dict[str, Any] | None = None,
        rng: str = "recorded",
        **options: Any,
    ) -> Trace:
        """
        Record the model again, with the draws of this trace in place of new ones.

        rng: 'recorded' exchanges what every random op gives, in compiled functions too; the
        ops run all the same, so generators stand afterwards where a plain run leaves them.
        'fresh' draws anew. Everything else is as in fs.trace.

            >>> trace.run(model, x).num_ops == trace.num_ops
            True
        """

    @property
    def validation_replay_status(self) -> ValidationReport:
        """The report of the last validate(); validates on first use."""

    @property
    def num_kept(self) -> int:
        """Output tensors of executed ops whose value is kept."""

    def save(
        self,
        path: str | os.PathLike[str],
        save: Any = "all",
        compress: str | None = None,
        overwrite: bool = False,
    ) -> None:
        """
        Write the trace to NAME.flow, a folder, or NAME.flow.zip, one file.

        save: which ops keep their value in the file, as in fs.trace. compress: 'zstd' for smaller values that are unpacked when they are read. overwrite: replace a trace that is there; anything else is never touched. The folder is written beside and renamed: what stands under the name is whole.
        """

    def export(
        self,
        path: str | os.PathLike[str],
        sites: Any = None,
        format: str | None = None,
        table: str = "ops",
        overwrite: bool = False,
    ) -> None:
        """
        Write values or a table for other programs.

        format: 'npz' or 'safetensors' for the outputs of ops, each under its label, of a
        second output LABEL.1 and so on; 'csv' or 'parquet' (with pyarrow) for a table; None:
        by the end of the path. sites: which ops, as in find_sites; None: all. table: what
        to_pandas takes, or 'stats' or 'timeline'. An existing file is replaced with
        overwrite=True only; what stands under the name is whole.

            >>> trace.export("values.npz", fs.func("matmul"), overwrite=True)
            >>> list(np.load("values.npz"))[0]
            'matmul_1_3:1'
        """

def make_call_wrapper(
    wrapped: object, is_body: bool, training_position: int, training_default: object | None
) -> object: ...
def is_call_wrapper(arg: object, /) -> bool: ...

class Session:
    def __init__(
        self,
        options: dict,
        library_prefixes: Sequence[str],
        callbacks: bool,
        new_module: object | None,
        executing_eagerly: object,
        bodies: object | None = None,
    ) -> None: ...
    def start(self) -> None: ...
    def stop(self, error: str) -> Trace: ...
    def declare_module(
        self,
        arg0: object,
        arg1: Sequence[str],
        arg2: str,
        arg3: str,
        arg4: str,
        arg5: int,
        arg6: int,
        arg7: int,
        /,
    ) -> int: ...
    def module_id(self, arg: object, /) -> int:
        """Number of a module that is known, else -1."""

    def alias_module(self, arg0: object, arg1: int, /) -> None: ...
    def update_params(self, arg: Sequence[tuple[int, int]], /) -> None: ...
    @property
    def num_unnamed_variables(self) -> int: ...
    def declare_inputs(self, value: object | None, path: str) -> None: ...
    def declare_array_input(self, arg0: list, arg1: str, /) -> None: ...
    def declare_outputs(self, value: object | None, structure: str) -> None: ...
    def set_stream_configs(self, arg: Sequence[str], /) -> None: ...
    def add_note(self, arg: str, /) -> None: ...
    def open_region(self, arg0: str, arg1: str, /) -> int: ...
    def open_step(self, arg0: str, arg1: int, arg2: bool, /) -> int: ...
    def close_step(self, arg: int, /) -> None: ...
    @property
    def refused(self) -> str:
        """Why an option cannot be had with this run; empty where it can."""

    def close_region(self, arg: int, /) -> None: ...
    def record_callback(self, arg0: str, arg1: object, arg2: object, /) -> str: ...
    @property
    def recording(self) -> bool: ...
    @property
    def bodies(self) -> object: ...
    @property
    def num_selected(self) -> int:
        """Ops that save= has matched so far."""

    @property
    def stopped_by_nonfinite(self) -> bool: ...
    @property
    def halted(self) -> bool: ...

def current_session() -> Session: ...
def live_structure(graph_def: bytes, facts: dict, origins: dict) -> Trace: ...

class SavedModel:
    def __init__(self, dir: str) -> None: ...
    def find_signature(self, key: str) -> str: ...
    def inputs(self, signature: str) -> list[tuple[str, int, list[int] | None]]: ...
    def why_not_node_by_node(self, signature: str) -> str: ...
    def load(self, context: object) -> None: ...
    def close(self) -> None: ...
    def structure(self, signature: str, name: str) -> Trace: ...
    def record(
        self, signature: str, inputs: dict, options: dict, note: str
    ) -> tuple[Trace, dict, str, bool]: ...

SCOPES_NOTE: str = ...

class FoundOrigins:
    pass

class RestoredNames:
    def __init__(
        self,
        context: object,
        objects: Sequence[
            tuple[str, Sequence[tuple[str, int]], str, str, Sequence[int] | None, bool]
        ],
        functions: Sequence[tuple[str, Sequence[int]]],
    ) -> None: ...
    @property
    def modules(self) -> list[tuple[str, str, str, int, int, int, int]]: ...
    def variable(self, object: int) -> tuple[list[str], str, int]: ...
    @property
    def by_scopes(self) -> bool: ...
    def has(self, function: str) -> bool: ...
    def origins(
        self, context: object, function: str, modules: Sequence[int]
    ) -> FoundOrigins | None: ...

def load_tensorflow(arg: str, /) -> None: ...
def tensorflow_loaded() -> bool: ...
def missing_entries() -> list[str]: ...
def hook_lease_count() -> int: ...
def hooked_slot_count() -> int: ...
def hook_slots_restored() -> bool: ...
def living_recorders() -> int: ...
def is_eager_tensor(arg: object, /) -> bool: ...
def run_model(model: Callable, returned: Callable, raised: Callable) -> object: ...

class StructureWatch:
    def __init__(
        self, kinds: dict, held: object, leaf: int, containers_from: int, stored: int
    ) -> None: ...
    def add(self, object: object, ignored: object, containers: bool) -> bool: ...
    def unchanged(self) -> bool: ...

class Declarations:
    def __init__(self) -> None: ...
    @property
    def empty(self) -> bool: ...
    def add_module(
        self,
        addresses: Sequence[str],
        class_name: str,
        name: str,
        parent: int,
        num_params: int,
        num_trainable: int,
    ) -> None: ...
    def add_variable(
        self, resource: object, addresses: Sequence[str], name: str, trainable: bool, module: int
    ) -> None: ...
    def declare_to(self, session: Session, objects: list) -> None: ...

def load(path: str | os.PathLike[str]) -> Trace:
    """Open a saved trace. Needs neither TensorFlow nor Keras."""

def repair(path: str | os.PathLike[str]) -> None:
    """Finish a folder whose recording was cut off."""

def sqlite_version() -> str:
    """
    Version of the SQLite inside this module; TensorFlow brings another one.
    """
