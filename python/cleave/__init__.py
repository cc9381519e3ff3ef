"""Cleave from Python: bring a PyTorch module to Cleave, and run what `cleave compile --emit shared` wrote.

    import cleave
    cleave.export_torch(module, {"x": x}, "model.onnx")     # needs torch and onnx, which the caller has
    model = cleave.Model("./libmodel.so")                   # needs numpy only
"""


def export_torch(*arguments, **options):
    """See cleave.export.export_torch; imported on first use, so that running a model does not need torch."""
    from .export import export_torch as export
    return export(*arguments, **options)


def __getattr__(name):
    if name in ("Model", "CleaveError", "Evaluation", "Tensor"):
        from . import library
        return getattr(library, name)
    raise AttributeError(f"module 'cleave' has no attribute '{name}'")
