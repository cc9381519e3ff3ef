"""Cleave from Python: bring a PyTorch module to Cleave, and run what `cleave compile --emit shared` wrote.

    import cleave
    cleave.export_torch(module, {"x": x}, "model.onnx")     # needs torch and onnx, which the caller has
    model = cleave.Model("./libmodel.so")                   # needs numpy only
"""


def export_torch(*arguments, **options):
    """See cleave.export.export_torch; imported on first use, so that running a model does not need torch."""
    try:
        from .export import export_torch as export
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"cleave.export_torch needs the Python packages torch and onnx, and {error.name!r} is not installed: "
                                  f"pip install {error.name}", name=error.name) from error
    return export(*arguments, **options)


def __getattr__(name):
    if name in ("Model", "CleaveError", "Evaluation", "Tensor"):
        from . import library
        return getattr(library, name)
    raise AttributeError(f"module 'cleave' has no attribute '{name}'")
