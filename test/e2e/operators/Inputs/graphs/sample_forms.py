"""Forms of training jobs (samples.py): the batch in another dimension than 0, places in the batch, weights made of weights, samples that
meet, and losses that divide by a count in many ways.

Values whose dimension 0 is not the batch are made by Job.hidden, and never read by other steps.
"""
import numpy as np
import onnx

F4 = np.float32


# Steps

def sequence_first(job, x):
    """[batch, T, ...] as [T, batch, ...], its first two dimensions merged or not, and back."""
    if len(job.shape(x)) < 3:
        return None
    length, rank = job.shape(x)[1], len(job.shape(x))
    perm = [1, 0, *range(2, rank)]
    y = job.hidden("Transpose", [x], perm=perm)
    merged = y and job.g.chance(0.5)
    if merged:
        y = job.hidden("Reshape", [y, job.g.fixed([-1, *job.shape(x)[2:]])])
    for _ in range(job.g.integer(1, 3)):
        y = y and in_sequence(job, y, length, merged)
    if y and merged:
        y = job.hidden("Reshape", [y, job.g.fixed([length, -1, *job.shape(y)[1:]])])
    return y and job.emit("Transpose", [y], perm=perm)


def in_sequence(job, y, length, merged):
    """One step of a value whose batch is not its first dimension."""
    g, width = job.g, job.shape(y)[-1]
    kind = g.integer(0, 6)
    if kind == 0:
        other = g.choose([1, 2, 5])
        return job.hidden("MatMul", [y, job.parameter([width, other], width**-0.5)])
    if kind == 1:
        return job.hidden("Softmax", [y], axis=-1)
    if kind == 2:
        return job.hidden("LayerNormalization", [y, job.parameter([width], 0.1, 1), job.parameter([width], 0.1)], axis=-1, epsilon=0.01)
    if kind == 3 and not merged:
        return job.hidden("CumSum", [y, g.constant(np.int64(0))], reverse=g.integer(0, 1))
    if kind == 4 and not merged:
        return job.hidden(g.choose(["Add", "Mul"]), [y, job.parameter([length] + [1] * (len(job.shape(y)) - 2) + [width], 0.5)])
    if kind == 5 and not merged:
        return job.hidden("Softmax", [y], axis=0)
    return job.hidden(g.choose(["Tanh", "Sin", "Relu"]), [y])


def features_first(job, x):
    """[batch, C] as [C, batch]."""
    if len(job.shape(x)) != 2:
        return None
    y = job.hidden("Transpose", [x], perm=[1, 0])
    for _ in range(job.g.integer(1, 3)):
        features = y and job.shape(y)[0]
        kind = job.g.integer(0, 3)
        if y and kind == 0:
            y = job.hidden("MatMul", [job.parameter([job.g.choose([1, 3, 8]), features], features**-0.5), y])
        elif y and kind == 1:
            y = job.hidden("Softmax", [y], axis=0)
        elif y and kind == 2:
            y = job.hidden("Add", [y, job.parameter([features, 1], 0.5)])
        else:
            y = y and job.hidden("Tanh", [y])
    return y and job.emit("Transpose", [y], perm=[1, 0])


def places(job):
    """0, 1, ... of the samples."""
    batch = job.hidden("Shape", [job.g.inputs[0]], start=0, end=1)
    count = batch and job.hidden("Squeeze", [batch])
    return count and job.hidden("Range", [job.g.constant(np.int64(0)), count, job.g.constant(np.int64(1))])


def pick_rows(job, x):
    """Of each sample the row that an input names, by the sample's place in the batch."""
    if len(job.shape(x)) != 3:
        return None
    length, width = job.shape(x)[1:]
    index, place = job.input([], "index", length), places(job)
    if not place:
        return None
    if job.g.chance(0.5):
        pairs = [job.hidden("Unsqueeze", [name, job.g.fixed([1])]) for name in (place, index)]
        return job.emit("GatherND", [x, job.hidden("Concat", pairs, axis=1)])
    job.meets = True  # cleave does not see that these rows are the sample's own
    begin = job.hidden("Mul", [place, job.g.constant(np.int64(length))])
    flat = job.hidden("Reshape", [x, job.g.fixed([-1, width])])
    return flat and begin and job.emit("Gather", [flat, job.hidden("Add", [begin, index])], axis=0)


def weigh_places(job, x):
    """A weight that a sample's place decides: what a micro-batch does not know of its samples."""
    place = places(job)
    place = place and job.hidden("Cast", [place], to=onnx.TensorProto.FLOAT)
    place = place and job.hidden("Reshape", [place, job.g.fixed([-1] + [1] * (len(job.shape(x)) - 1))])
    weight = place and job.hidden(job.g.choose(["Sin", "Softsign"]), [place])
    job.meets = True
    return weight and job.emit("Mul", [x, weight])


def meet(job, x):
    """Samples that are made of other samples."""
    job.meets = True
    kind = job.g.integer(0, 5)
    if kind == 0:
        return job.emit("Softmax", [x], axis=0)
    if kind == 1:
        return job.emit("CumSum", [x, job.g.constant(np.int64(0))])
    if kind == 2:
        return job.emit("Slice", [x, *(job.g.fixed([n]) for n in (-1, -2**62, 0, -1))])
    if kind == 3 and len(job.shape(x)) == 2:
        turned = job.hidden("Transpose", [x], perm=[1, 0])
        products = turned and job.hidden("MatMul", [x, turned])
        return products and job.emit("MatMul", [job.hidden("Softmax", [products], axis=1), x])
    common = job.hidden("Reduce" + job.g.choose(["Mean", "Max", "Sum"]), [x, job.g.fixed([0])], keepdims=1)
    return common and job.emit("Sub", [x, common])


def made_weight(job, x):
    """A product with a weight that is made of parameters. Its first size may be that of the batch."""
    inner, width = job.shape(x)[-1], job.g.choose([3, 8])
    weight = job.parameter([inner, width])
    kind = job.g.integer(0, 3)
    if kind == 0:
        weight = job.hidden("Softmax", [weight], axis=0)
    elif kind == 1:
        turned = job.hidden("Transpose", [weight], perm=[1, 0])
        weight = turned and job.hidden("MatMul", [weight, turned])
    elif kind == 2:
        norm = job.hidden("ReduceL2", [weight, job.g.fixed([0])], keepdims=1)
        weight = norm and job.hidden("Div", [weight, norm])
    else:
        weight = job.hidden("Tanh", [weight])
    return weight and job.emit("MatMul", [x, weight])


def product_of_features(job, x, rows):
    """[rows, rows], of all samples together."""
    flat = job.hidden("Flatten", [x], axis=1)
    part = flat and job.hidden("MatMul", [flat, job.parameter([job.shape(flat)[1], rows], job.shape(flat)[1]**-0.5)])
    turned = part and job.hidden("Transpose", [part], perm=[1, 0])
    table = turned and job.hidden("MatMul", [turned, part])
    if table:
        job.tables.add(table)
    return table


STEPS = [(1.5, sequence_first), (1, features_first), (1, pick_rows), (0.3, weigh_places), (0.3, meet), (1, made_weight)]


# Losses

def counted_loss(job, y):
    """A sum over what weights count, divided by a count of them that may be bounded, scaled, or cut to an integer."""
    g = job.g
    rows = job.hidden("Flatten", [y], axis=1) if len(job.shape(y)) < 3 or g.chance(0.5) else None
    if rows:
        each = job.scalar("ReduceMean", [job.scalar("Sin", [rows]), g.fixed([1])], keepdims=0)
    else:
        each = job.scalar("ReduceMean", [job.scalar("Sin", [y]), g.fixed([*range(2, len(job.shape(y)))])], keepdims=0)
    share = g.chance(0.4)  # every sample counts, and not for a whole one
    weights = job.input(job.shape(each)[1:], "share" if share else "mask")
    if len(job.shape(each)) == 2 and g.chance(0.5):
        each, weights = (job.scalar("Transpose", [name], perm=[1, 0]) for name in (each, weights))
    return job.scalar("Identity", [divided(job, each, weights, share)])


def divided(job, each, weights, share):
    g = job.g
    total = job.scalar("ReduceSum", [weights], keepdims=0)
    kind = g.choose(["after", "after", "each", "shares", "columns", "means"] if share else ["after", "after", "after", "bounded each"])
    count = count_of(job, total) if "means" not in kind else None
    if kind == "after":
        return job.scalar("Div", [job.scalar("ReduceSum", [job.scalar("Mul", [each, weights])], keepdims=0), count])
    if kind in ("each", "bounded each"):
        bounded = count if kind == "each" else job.scalar("Max", [count, g.constant(F4(1))])
        return job.scalar("ReduceSum", [job.scalar("Div", [job.scalar("Mul", [each, weights]), bounded])], keepdims=0)
    if kind == "shares":
        return job.scalar("ReduceSum", [job.scalar("Mul", [each, job.scalar("Div", [weights, count])])], keepdims=0)
    if kind == "columns":
        sums = job.scalar("ReduceSum", [job.scalar("Mul", [each, weights]), g.fixed([0])], keepdims=0)
        return job.scalar("ReduceMean", [job.scalar("Div", [sums, count])], keepdims=0)
    above, below = (job.scalar("ReduceMean", [name], keepdims=0) for name in (job.scalar("Mul", [each, weights]), weights))
    return job.scalar("Div", [above, below])


def count_of(job, total):
    """The total, or a number made of it that is not 0 where the total is not."""
    g = job.g
    if g.chance(0.4):
        total = job.scalar("Mul", [total, g.constant(F4(g.choose([0.25, 0.5, 2, 1 / 3])))])
    bound = g.constant(F4(g.choose([0.5, 1, 3, 20])))
    kind = g.choose(["plain", "at least", "clip", "plus", "where", "cut"])
    if kind == "at least":
        return job.scalar("Max", [total, bound])
    if kind == "clip":
        return job.scalar("Clip", [total, bound])
    if kind == "plus":
        return job.scalar("Add", [total, bound])
    if kind == "where":
        return job.scalar("Where", [job.scalar("Greater", [total, bound]), total, bound])
    if kind == "cut":
        least = job.scalar("Max", [total, g.constant(F4(1))])
        return job.scalar("Cast", [job.scalar("Cast", [least], to=onnx.TensorProto.INT64)], to=onnx.TensorProto.FLOAT)
    return total
