"""What a training forward() does that no exporter writes into a file."""
import torch
from torch.nn.utils import parametrizations
from torch.nn.utils.spectral_norm import SpectralNorm

from .states import differs


def changed_parameters(module, before):
    return [name for name, value in module.named_parameters() if name in before and differs(value, before[name])]


def changed_buffers(module, before):
    """The buffers that forward() has changed since `before` (name -> value), but for those that BatchNormalization of the file updates."""
    updated = {id(value) for m in module.modules() if isinstance(m, torch.nn.modules.batchnorm._BatchNorm) for value in m.buffers(recurse=False)}
    return [name for name, value in module.named_buffers() if name in before and id(value) not in updated and differs(value, before[name])]


def power_iterations(module):
    """The modules that divide a weight by its largest singular value. In training a power iteration finds that, and moves buffers."""
    return [m for m in module.modules() if isinstance(m, parametrizations._SpectralNorm)
            or any(isinstance(hook, SpectralNorm) for hook in m._forward_pre_hooks.values())]


def first_names(names):
    return ", ".join(names[:3]) + (" and more" if len(names) > 3 else "")


def unwritten(module, before):
    """One sentence for each kind."""
    layers = [(name or type(m).__name__, m) for name, m in module.named_modules()]
    notes = []
    changed = changed_buffers(module, before)
    if changed:
        reason = ("spectral_norm begins its power iteration at them in each step, and in inference: for vectors that have converged, call the module "
                  "some times in train() before the export, and again after PyTorch has loaded the trained weights" if power_iterations(module) else
                  "running averages that the module itself computes are such buffers")
        notes.append(f"forward() changes buffers in training ({first_names(changed)}), and the file does not: in Cleave they keep their values. {reason}")
    changed = changed_parameters(module, before)
    if changed:
        notes.append(f"forward() changes parameters itself ({first_names(changed)}), and the file does not: in Cleave the optimizer alone changes them. For "
                     "values with a limit, compute with w.clamp(-1, 1) and leave w as it is")
    average = [name for name, m in layers if isinstance(m, torch.nn.modules.batchnorm._BatchNorm) and m.track_running_stats and m.momentum is None]
    if average:
        notes.append(f"BatchNorm(momentum=None) averages the statistics of all batches ({first_names(average)}), and the file has one momentum for "
                     "all steps: give a momentum")
    limited = [name for name, m in layers if getattr(m, "max_norm", None) is not None]
    if limited:
        notes.append(f"max_norm, by which forward() changes rows of the weight, is not in the file ({first_names(limited)}): Cleave trains without it")
    return notes
