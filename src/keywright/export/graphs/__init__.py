"""One file per family of models that can be exported.

A model names its family in its class attribute `graphs`. A file exposes `state(model)`, which
describes what rows carry from step to step (see `runtime.state`), `write_encoder(graph, model)` and
`write_decoder(graph, model)`.
"""
