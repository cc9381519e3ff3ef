"""Functions of PyTorch that the exporters do not know, write as a loop over samples, or write wrongly, and what is traced in their place: the
same numbers and gradients by operations that take the whole batch."""
import contextlib
import inspect
import math
from unittest import mock

import torch
import torch.nn.functional as F
from torch.fx.experimental.symbolic_shapes import statically_known_true

from . import recurrent, whole_numbers

UNREACHABLE = -1e30  # the logarithm of a probability of 0. Infinity would make gradients that are not numbers.


def _without_max_norm(original):
    signature = inspect.signature(original)

    def embedding(*args, **kwargs):
        given = signature.bind(*args, **kwargs)
        given.arguments.pop("max_norm", None)
        return original(*given.args, **given.kwargs)
    return embedding


@contextlib.contextmanager
def without_max_norm():
    """While this holds, embeddings do not change rows of their weights: the file does not, either."""
    with mock.patch.object(F, "embedding", _without_max_norm(F.embedding)), mock.patch.object(F, "embedding_bag", _without_max_norm(F.embedding_bag)):
        yield


def _embedding_bag(original):
    def embedding_bag(input, weight, offsets=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, mode="mean", sparse=False,
                      per_sample_weights=None, include_last_offset=False, padding_idx=None):
        if not isinstance(input, torch.Tensor) or input.dim() != 2 or max_norm is not None or scale_grad_by_freq:
            return original(input, weight, offsets, max_norm, norm_type, scale_grad_by_freq, mode, sparse, per_sample_weights,
                            include_last_offset, padding_idx)
        rows = F.embedding(input, weight, padding_idx)  # [bags, entries, features]
        if padding_idx is not None and padding_idx < 0:
            padding_idx += weight.shape[0]
        counts = None if padding_idx is None else (input != padding_idx).unsqueeze(-1)  # such entries are in no bag
        if per_sample_weights is not None:
            rows = rows * per_sample_weights.unsqueeze(-1)
        if mode == "max":
            if counts is None:
                return rows.amax(1)
            most = torch.where(counts, rows, torch.finfo(rows.dtype).min).amax(1)
            return torch.where(counts.any(1), most, 0.0)  # a bag without entries is 0
        if counts is None:
            return rows.sum(1) if mode == "sum" else rows.mean(1)
        counts = counts.to(rows.dtype)
        total = (rows * counts).sum(1)
        return total if mode == "sum" else total / counts.sum(1).clamp(min=1)
    return embedding_bag


def _ctc_loss(original):
    """The sum over all alignments, frame by frame (Graves et al., 2006, section 4.1), in logarithms."""
    def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
        if log_probs.dim() != 3 or targets.dim() != 2:
            return original(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity)
        frames, _, classes = log_probs.shape
        used, wanted = (torch.as_tensor(lengths, device=targets.device).long().unsqueeze(1) for lengths in (input_lengths, target_lengths))
        targets = targets.long().clamp(0, classes - 1)  # what is after a target's end may be anything, and counts nowhere
        blanks = torch.full_like(targets, blank)
        symbols = torch.cat([torch.stack([blanks, targets], 2).flatten(1), blanks[:, :1]], 1)  # blank, first, blank, second, ..., blank
        scores = log_probs.gather(2, symbols.unsqueeze(0).expand(frames, -1, -1))
        # The blank before a symbol may be left out, unless the symbol before that is the same.
        skips = F.pad((symbols[:, 2:] != symbols[:, :-2]) & (symbols[:, 2:] != blank), (2, 0))
        before = F.pad(torch.zeros_like(scores[0, :, :1]), (0, symbols.shape[1] - 1), value=UNREACHABLE)
        for frame in range(frames):
            one = F.pad(before[:, :-1], (1, 0), value=UNREACHABLE)
            two = torch.where(skips, F.pad(before[:, :-2], (2, 0), value=UNREACHABLE), UNREACHABLE) if frame else torch.full_like(one, UNREACHABLE)
            after = torch.logsumexp(torch.stack([before, one, two], 2), 2) + scores[frame]
            before = torch.where(frame < used, after, before)
        last = before.gather(1, 2 * wanted)
        earlier = torch.where(wanted > 0, before.gather(1, (2 * wanted - 1).clamp(min=0)), UNREACHABLE)
        losses = -torch.logsumexp(torch.cat([last, earlier], 1), 1)
        losses = torch.where(losses < -UNREACHABLE / 2, losses, 0.0 if zero_infinity else float("inf"))  # no alignment: too few frames
        if reduction == "mean":
            return (losses / wanted.squeeze(1).clamp(min=1)).mean()
        return losses.sum() if reduction == "sum" else losses
    return ctc_loss


def _normalized(factors):
    """Factors between 1 and 2 in size (0, infinities and NaN stay as they are), and the exponents of the powers of 2 that make up the rest."""
    size = factors.abs()
    exponents = torch.where((size > 0) & (size < float("inf")), size, torch.ones_like(size)).log2().floor().clamp(min=-1000)
    return factors * _power(-exponents), exponents


def _power(exponents):
    return torch.full_like(exponents, 2.0) ** exponents


def _doubling(x, combine, neutral, reach):
    return combine(x, F.pad(x[..., :-reach], (reach, 0), value=neutral))


def _running_product(x):
    """Along the last dimension. Products of parts must not overflow where the running ones do not: factors are normalized, before and after every
    8 rounds, in which they grow to 2^256 at most."""
    if not x.is_floating_point():
        reach = 1
        while reach < x.shape[-1]:
            x, reach = _doubling(x, torch.mul, 1, reach), 2 * reach
        return x
    (factors, exponents), reach, rounds = _normalized(x.double()), 1, 0
    while reach < x.shape[-1]:
        factors, exponents = _doubling(factors, torch.mul, 1, reach), _doubling(exponents, torch.add, 0, reach)
        reach, rounds = 2 * reach, rounds + 1
        if rounds % 8 == 0:
            factors, more = _normalized(factors)
            exponents = exponents + more
    exponents = exponents.clamp(-2040, 2046)
    half = (exponents / 2).floor()  # 2^exponents alone may be infinite
    return (factors * _power(half) * _power(exponents - half)).to(x.dtype)


def _cumprod(original):
    """Products of 2, then of 4, of 8 factors and so on: no division, so that a factor of 0 has the gradient that it should have."""
    def cumprod(input, dim, *, dtype=None, out=None):
        if out is not None:
            return original(input, dim, dtype=dtype, out=out)
        if input.dim() == 0:
            return original(input, dim, dtype=dtype)
        if dtype is None and not (input.is_floating_point() or input.is_complex()):
            dtype = torch.int64  # as PyTorch has it
        x = (input if dtype is None else input.to(dtype)).transpose(dim, -1)
        return _running_product(x).transpose(dim, -1)
    return cumprod


def _running_extreme(is_later, made):
    """cummax and cummin, by the extremes of 2, then of 4, of 8 numbers and so on. Of equal numbers the last one is taken, and a NaN before all else."""
    def make(original):
        def running_extreme(input, dim, *, out=None):
            if out is not None or input.dim() == 0:
                return original(input, dim, out=out)
            size, reach = input.shape[dim], 1
            indices = torch.arange(size, device=input.device).reshape([-1] + [1] * (input.dim() - 1 - dim % input.dim())).expand_as(input)

            def pair(x):
                """Those from `reach` on, and those that are `reach` places before them."""
                return x.narrow(dim, reach, size - reach), x.narrow(dim, 0, size - reach)

            values = input
            while reach < size:
                (later, earlier), places = pair(values), pair(indices)
                takes = is_later(later, earlier)
                if input.is_floating_point():
                    takes = torch.isnan(later) | (takes & ~torch.isnan(earlier))
                values = torch.cat([values.narrow(dim, 0, reach), torch.where(takes, later, earlier)], dim)
                indices = torch.cat([indices.narrow(dim, 0, reach), torch.where(takes, *places)], dim)
                reach *= 2
            return made((values, indices))
        return running_extreme
    return make


_cummax, _cummin = _running_extreme(torch.ge, torch.return_types.cummax), _running_extreme(torch.le, torch.return_types.cummin)


def _logsigmoid(original):
    """As the exporters write it, the logarithm of a sigmoid, it is -inf where the sigmoid is 0: below about -88 in float32."""
    return lambda input: -F.softplus(-input)


def _cross_entropy(original):
    """Of targets that are probabilities, which the exporters take for class numbers. The classes are dimension 1."""
    def cross_entropy(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0):
        if not target.is_floating_point() or size_average is not None or reduce is not None:
            return original(input, target, weight, size_average, ignore_index, reduce, reduction, label_smoothing)
        dim = 1 if input.dim() > 1 else 0
        if label_smoothing:
            target = target * (1 - label_smoothing) + label_smoothing / input.shape[dim]
        scores = input.log_softmax(dim)
        if weight is not None:
            scores = scores * weight.reshape([-1] + [1] * (input.dim() - 1 - dim))
        losses = -(scores * target).sum(dim)
        return losses if reduction == "none" else losses.sum() if reduction == "sum" else losses.mean()
    return cross_entropy


def _one_loss_each(original):
    """The losses of samples that have one class each. torch.export takes them for one number, unless the samples have positions: here they have one."""
    def loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", **options):
        if reduction != "none" or size_average is not None or reduce is not None or (input.dim(), target.dim()) != (2, 1):
            return original(input, target, weight, size_average, ignore_index, reduce, reduction, **options)
        return original(input.unsqueeze(2), target.unsqueeze(1), weight, ignore_index=ignore_index, reduction="none", **options).squeeze(1)
    return loss


def _gaussian_nll_loss(original):
    """Without the look at the values of `var`, which must not be negative. As in PyTorch, `eps` bounds it, and has no part in its gradient."""
    def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
        if not isinstance(var, torch.Tensor) or reduction not in ("none", "mean", "sum"):
            return original(input, target, var, full, eps, reduction)
        if var.dim() == input.dim() - 1:
            var = var.unsqueeze(-1)
        var = var + (var.clamp(min=eps) - var).detach()
        losses = 0.5 * (var.log() + (input - target) ** 2 / var + (math.log(2 * math.pi) if full else 0))
        return losses if reduction == "none" else losses.sum() if reduction == "sum" else losses.mean()
    return gaussian_nll_loss


def _binary_cross_entropy(original):
    """With PyTorch's own gradient, (p - t) / max(p (1 - p), 1e-12), which is finite where p is 0 or 1. That of the logarithms is not."""
    def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
        if size_average is not None or reduce is not None or input.shape != target.shape or target.requires_grad:
            return original(input, target, weight, size_average, reduce, reduction)
        p = input.detach()
        losses = -(target * p.log().clamp(min=-100) + (1 - target) * (1 - p).log().clamp(min=-100))
        losses = losses + (p - target) / (p * (1 - p)).clamp(min=1e-12) * (input - p)  # 0, with that gradient
        losses = losses if weight is None else losses * weight
        return losses if reduction == "none" else losses.sum() if reduction == "sum" else losses.mean()
    return binary_cross_entropy


def _ended(function, condition, *inputs):
    """function(*inputs), without a gradient where the condition is true. There it is differentiated at 1: where its own derivative is infinite, 0
    times that is no number."""
    inside = [torch.where(condition, torch.ones_like(x), x) for x in inputs]
    return torch.where(condition, function(*(x.detach() for x in inputs)), function(*inside))


def _std(original):
    """With PyTorch's gradient where all numbers are equal, which is 0. That of a square root of 0 is infinite."""
    def std(input, *arguments, **options):
        variance = torch.var(input, *arguments, **options)
        return _ended(torch.sqrt, variance == 0, variance)
    return std


def _std_mean(_):
    def std_mean(input, *arguments, **options):
        variance, mean = torch.var_mean(input, *arguments, **options)
        return _ended(torch.sqrt, variance == 0, variance), mean
    return std_mean


def _atan2(_):
    """The exporters divide y by x, which may be 0. Here the smaller one is divided by the larger one, and the gradient is 0 where both are 0."""
    def atan2(input, other):
        y, x = torch.broadcast_tensors(input, other)
        is_zero, is_steep = (x == 0) & (y == 0), y.abs() > x.abs()
        small = torch.where(is_zero, torch.zeros_like(x), torch.where(is_steep, x, y))
        angle = torch.atan(small / torch.where(is_zero, torch.ones_like(x), torch.where(is_steep, y, x)))
        half = math.pi * torch.where(y < 0, -torch.ones_like(angle), torch.ones_like(angle))
        return torch.where(is_steep, half / 2 - angle, torch.where(x < 0, half + angle, angle))
    return atan2


def _sinc(original):
    """Without the division of 0 by 0. The gradient is 0 there."""
    def sinc(input):
        x = math.pi * torch.where(input == 0, torch.ones_like(input), input)
        return torch.where(input == 0, torch.ones_like(x), x.sin() / x)
    return sinc


def _xlogy(original):
    """Where x and y are 0, so is x log(y), and its gradient by x."""
    def xlogy(input, other):
        like = input if isinstance(input, torch.Tensor) else other
        if not like.is_floating_point():
            return original(input, other)
        x, y = (value if isinstance(value, torch.Tensor) else like.new_full((), value) for value in (input, other))
        return x * torch.where((x == 0) & (y <= 0), torch.ones_like(y), y).log()
    return xlogy


def _vector_norm(original):
    """With PyTorch's gradient of 0 at zeros. TorchScript's powers have an infinite one there; torch.export's say what they are, and Cleave
    knows."""
    def vector_norm(x, ord=2, dim=None, keepdim=False, **options):
        if ord in (0, 1, 2) or ord < 0 or math.isinf(ord) or any(value is not None for value in options.values()):
            return original(x, ord, dim, keepdim, **options)
        dims = tuple(range(x.dim())) if dim is None else dim
        total = _ended(lambda size: size ** ord, x == 0, x.abs()).sum(dims, keepdim)
        return _ended(lambda powers: powers ** (1 / ord), total == 0, total)
    return vector_norm


def _norm(original):
    """Those that are norms of vectors."""
    def norm(A, ord=None, dim=None, keepdim=False, **options):
        dims = A.dim() if dim is None else 1 if isinstance(dim, int) else len(dim)
        if ord in (None, "fro") or (dims == 1 and not isinstance(ord, str)):
            return torch.linalg.vector_norm(A, 2 if ord in (None, "fro") else ord, dim, keepdim, **options)
        return original(A, ord, dim, keepdim, **options)
    return norm


def _matrix_norm(original):
    def matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False, **options):
        return torch.linalg.vector_norm(A, 2, dim, keepdim, **options) if ord == "fro" else original(A, ord, dim, keepdim, **options)
    return matrix_norm


def _cdist(_):
    """With PyTorch's gradient of 0 at a distance of 0. torch.export does not write it, and TorchScript writes a root."""
    def cdist(x1, x2, p=2.0, compute_mode=None):
        return torch.linalg.vector_norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, -1)
    return cdist


def _pairwise_distance(original):
    """TorchScript adds eps to p, and not to the difference."""
    def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
        return torch.linalg.vector_norm(x1 - x2 + eps, p, -1, keepdim)
    return pairwise_distance


def _cosine_similarity(original):
    """TorchScript takes the root of the product of both squares, which has an infinite gradient at 0. In PyTorch `eps` bounds each norm, and has
    no part in the gradient."""
    def cosine_similarity(x1, x2, dim=1, eps=1e-8):
        def unit(x):
            size = torch.linalg.vector_norm(x, 2, dim, True)
            return x / (size + (size.clamp(min=eps) - size).detach())
        return (unit(x1) * unit(x2)).sum(dim)
    return cosine_similarity


def _softplus(original):
    """TorchScript leaves the threshold out, above which the function is a line. That of 20, the default, is not seen."""
    def softplus(input, beta=1, threshold=20):
        return original(input, beta) if threshold >= 20 else torch.where(input * beta > threshold, input, original(input, beta))
    return softplus


def _is_traced(size):
    """Whether a size stands for any batch: a number of torch.export's, or the tensor that TorchScript takes for it."""
    return isinstance(size, (torch.SymInt, torch.Tensor))


def _slices(x, sizes, dim):
    """The parts of x that have these sizes, of which the last one takes what is left."""
    parts, begin, before = [], 0, (slice(None),) * (dim % x.dim())
    for size in sizes[:-1]:
        parts.append(x[(*before, slice(begin, begin + size))])
        begin = begin + size
    return (*parts, x[(*before, slice(begin, None))])


def _count(total, size):
    """How many parts of `size` make up `total`; None where that may be another number for another batch. TorchScript knows the example alone."""
    if isinstance(size, torch.Tensor):
        return -(-int(total) // int(size))
    return next((count for count in range(1, 65) if statically_known_true(count * size == total)), None)


def _split(original):
    """As slices, where a size depends on the batch: the exporters write the example's number in its place."""
    def split(tensor, split_size, dim=0):
        sizes = split_size
        if not isinstance(sizes, (list, tuple)):
            sizes = [sizes] * (_count(tensor.shape[dim], sizes) or 0) if _is_traced(sizes) else []
        return _slices(tensor, sizes, dim) if any(map(_is_traced, sizes)) else original(tensor, split_size, dim)
    return split


def _split_with_sizes(original):
    return lambda tensor, split_sizes, dim=0: _split(original)(tensor, split_sizes, dim)


def _chunk(original):
    """As slices, where the dimension depends on the batch and the number of parts does not: torch.export writes the example's sizes."""
    def chunk(input, chunks, dim=0):
        total = input.shape[dim]
        if not isinstance(total, torch.SymInt) or not statically_known_true(total >= 2 if chunks == 2 else total % chunks == 0):
            return original(input, chunks, dim)
        return _slices(input, [(total + chunks - 1) // chunks] * chunks, dim)
    return chunk


def _normalize(original):
    """With `out`, as spectral_norm calls it in its power iteration, the result has no gradient. The exporters would give it one."""
    def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
        return original(input, p, dim, eps) if out is None else out.zero_().add_(original(input.detach(), p, dim, eps))
    return normalize


def _adjoint(_):
    """Which spectral_norm takes of real weights, and TorchScript does not write."""
    return property(lambda matrix: matrix.t().conj())


def _vdot(_):
    """Of real vectors as well."""
    return lambda input, other: torch.dot(input.conj(), other)


def _detach_in_place(_):
    def detach_(self):
        raise NotImplementedError("torch.export leaves detach_() out, and gradients would flow; write y = y.detach() in place of y.detach_()")
    return detach_


@contextlib.contextmanager
def traceable(exporter):
    """While this holds, these are operations on the batch: `nn.EmbeddingBag` of inputs [bags, entries] (inputs with `offsets` stay as they are),
    `nn.CTCLoss` of targets [samples, symbols], `cumprod`, `cummax`, `cummin`, recurrent layers with packed sequences, with dropout or with `proj_size`,
    `logsigmoid`, which is to be finite, `cross_entropy` with probabilities, `gaussian_nll_loss`, losses of each sample (torch.export), `split` and
    `chunk` of the batch, the power iteration of `spectral_norm`, functions whose gradients are finite in PyTorch (`binary_cross_entropy`, `std`,
    `std_mean`, `atan2`, `sinc`, `xlogy`, `cdist`, with TorchScript norms, too), and quotients and shifts of whole numbers, which are exact. What an
    exporter would lose without a word fails."""
    places = [(F, "embedding_bag", _embedding_bag), (F, "ctc_loss", _ctc_loss), (torch, "cumprod", _cumprod),
              (torch.Tensor, "cumprod", _cumprod), (F, "logsigmoid", _logsigmoid), (F, "cross_entropy", _cross_entropy),
              (F, "binary_cross_entropy", _binary_cross_entropy), (torch, "std", _std), (torch.Tensor, "std", _std), (torch, "std_mean", _std_mean),
              (F, "gaussian_nll_loss", _gaussian_nll_loss), (torch, "cdist", _cdist), (F, "normalize", _normalize)]
    places += [(kind, "forward", recurrent.layers) for kind in (torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN)]
    places += [(owner, name, make) for owner in (torch, torch.Tensor) for name, make in (("atan2", _atan2), ("arctan2", _atan2))]
    places += [(owner, name, make) for owner in (torch, torch.Tensor, torch.special) for name, make in (("sinc", _sinc), ("xlogy", _xlogy))]
    places += [(owner, name, make) for owner in (torch, torch.Tensor) for name, make in (("cummax", _cummax), ("cummin", _cummin))]
    places += [(torch.Tensor, "split", _split)]  # which torch.split() calls
    places += [(owner, "split_with_sizes", _split_with_sizes) for owner in (torch, torch.Tensor)]
    places += whole_numbers.BOTH
    places += {"dynamo": [(torch.Tensor, "detach_", _detach_in_place), (torch, "chunk", _chunk), (torch.Tensor, "chunk", _chunk),
                          (F, "cross_entropy", _one_loss_each), (F, "nll_loss", _one_loss_each)],
               "torchscript": [(torch.linalg, "vector_norm", _vector_norm), (torch.linalg, "norm", _norm), (torch.linalg, "matrix_norm", _matrix_norm),
                               (F, "pairwise_distance", _pairwise_distance), (F, "cosine_similarity", _cosine_similarity),
                               (F, "softplus", _softplus), (torch.Tensor, "H", _adjoint), (torch, "vdot", _vdot), *whole_numbers.TORCHSCRIPT]}[exporter]
    own = [vars(owner).get(name) for owner, name, _ in places]  # None: it is inherited
    for owner, name, make in places:
        setattr(owner, name, make(getattr(owner, name)))
    try:
        with recurrent.packed_as_padded():
            yield
    finally:
        for (owner, name, _), original in zip(places, own):
            if original is None:
                delattr(owner, name)
            else:
                setattr(owner, name, original)
