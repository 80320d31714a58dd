"""`nn.copy.log_probs` as nodes of a graph, for all models that generate and copy words."""

from __future__ import annotations

from keywright.export.graph import FLOAT, INT64, Graph


def write_log_probs(graph: Graph, logits: str, gate: str, energies: str) -> None:
    """The distribution [R, V + X], and the source position [R] with the highest energy.

    `logits` [R, V] of generating, `gate` [R, 1] the logit of generating instead of copying,
    `energies` [R, S]. `extended` and `first` are as in `nn.copy`; `extension` [R, X] is -inf, the
    log-probability of generating words that can only be copied.
    """
    extended = graph.input("extended", INT64, ["R", "S"])
    first = graph.input("first", INT64, ["R", "S"])
    extension = graph.input("extension", FLOAT, ["R", "X"])
    graph.op("ArgMax", energies, axis=1, keepdims=0, name="attended")
    graph.output("attended", INT64, ["R"])
    produced = graph.op("LogSoftmax", logits, axis=-1)
    # log sigmoid(gate) = -softplus(-gate)
    produced = graph.op("Sub", produced, graph.op("Softplus", graph.op("Neg", gate)))
    produced = graph.op("Concat", produced, extension, axis=1)
    copied = graph.op("LogSoftmax", energies, axis=-1)
    copied = _summed_by_word(graph, graph.op("Sub", copied, graph.op("Softplus", gate)), first)
    found = graph.op("GatherElements", produced, extended, axis=1)
    mixed = _log_add_exp(graph, found, copied)
    graph.op("ScatterElements", produced, extended, mixed, axis=1, name="log_probs")
    graph.output("log_probs", FLOAT, ["R", "V + X"])


def _summed_by_word(graph: Graph, log_mass: str, first: str) -> str:
    # Sums are stored at the first position of a word, which starts with its own share.
    def scattered(values: str, onto: str, reduction: str) -> str:
        return graph.op("ScatterElements", onto, first, values, axis=1, reduction=reduction)

    largest = graph.op("GatherElements", scattered(log_mass, log_mass, "max"), first, axis=1)
    shares = graph.op("Exp", graph.op("Sub", log_mass, largest))
    nothing = graph.op("Mul", shares, graph.constant(0.0))
    total = graph.op("GatherElements", scattered(shares, nothing, "add"), first, axis=1)
    return graph.op("Add", largest, graph.op("Log", total))


def _log_add_exp(graph: Graph, a: str, b: str) -> str:
    difference = graph.op("Neg", graph.op("Abs", graph.op("Sub", a, b)))
    more = graph.op("Log", graph.op("Add", graph.op("Exp", difference), graph.constant(1.0)))
    return graph.op("Add", graph.op("Max", a, b), more)
