"""What PyTorch does not train: parameters without a gradient, and outputs that no gradient comes from. The file does not show either."""
from .inference_form import needed
from .own_gradients import recorded
from .unwritten import first_names

ENDS = "forward() ends it (detach(), numpy, no_grad(), a comparison or an argmax)"


class Recorded:
    """What PyTorch has recorded in a forward pass. `wanted`: the parameters with requires_grad. `parameters`: those that some output has a gradient
    for. `outputs`: the outputs that have one."""

    def __init__(self, module, names, outputs):
        named = [(name, value) for name, value in module.named_parameters() if value.requires_grad]
        leaves = {id(node.variable) for node in recorded(outputs) if type(node).__name__ == "AccumulateGrad"} | {id(value) for value in outputs}
        self.wanted = [name for name, _ in named]
        self.parameters = {name for name, value in named if id(value) in leaves}
        self.outputs = {name for name, value in zip(names, outputs) if value.requires_grad}


def note_untrained(job):
    """Returns whether the file can be trained."""
    found = job.recorded
    if not job.report.parameters:
        job.note("the file has no parameters, so there is nothing to train; the command below compiles it for inference")
    elif not found.wanted:
        job.note("all parameters have requires_grad=False, so there is nothing to train; the command below compiles the file for inference")
    elif not found.outputs:
        job.note(f"no output has a gradient: {ENDS}. Such a file can only be compiled for inference, and the command below does that; to train, "
                 "return a result that has a gradient")
    else:
        _note_parameters(job)
        trained = job.report.loss or job.output_names[0]
        if trained not in found.outputs:
            job.note(f"output '{trained}', by which the command below trains, has no gradient: {ENDS}. Return a result that has one in its place")
        return True
    return False


def _note_parameters(job):
    if job.has_own_gradients:  # which may be those of parameters that PyTorch knows nothing of
        return
    values = needed(job.model.graph, shapes=False)
    ended = [name for name in job.recorded.wanted if name not in job.recorded.parameters and name in values]
    if ended:
        one, them = len(ended) == 1, "it" if len(ended) == 1 else "them"
        job.note(f"{len(ended)} parameter{'' if one else 's'} {'has' if one else 'have'} no gradient ({first_names(ended)}), though outputs depend "
                 f"on {them}: {ENDS}. PyTorch does not train {them}, and Cleave does not either")
