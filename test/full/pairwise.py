"""A small subset of a product of axes in which every pair of values of two axes appears that appears at all.

Most faults that depend on a combination depend on a pair. All pairs of the 884 cells of axes.py for `train` and `same` fit into 127 of
them, those of the 478 for `schedules` into 49, and those of the 170 for `cuda` into 30. Greedy: the next combination is the first one with
the most pairs that are still missing.

  pairwise.py    checks itself, and that the gate's subset of axes.py is one
"""
import itertools
import sys


def pairs_of(combination):
    return set(itertools.combinations(enumerate(combination), 2))


def cover(axes, exists=lambda combination: True):
    """Combinations of one value an axis, of those that exist."""
    left = [(combination, pairs_of(combination)) for combination in itertools.product(*axes) if exists(combination)]
    missing = set().union(*(pairs for _, pairs in left))
    chosen = []
    while missing:
        best, pairs = max(left, key=lambda each: len(each[1] & missing))
        chosen.append(best)
        missing -= pairs
    return chosen


def missing_pairs(every, subset):
    return set().union(*map(pairs_of, every)) - set().union(*map(pairs_of, subset))


def report(what, every, subset):
    """Whether the subset is one in which every pair appears."""
    missing = missing_pairs(every, subset)
    print(f"{what}: {len(subset)} of {len(every)} cells; pairs of values that are in none: {sorted(missing) or 'none'}")
    return not missing and subset < every and len(subset) <= len(every) / 3


def main():
    import axes
    import cells
    import cuda_cells

    def combination(cell):
        _, *values = cell.name.split("/")
        return tuple(values) + ("plain",) * (len(axes.PAIRWISE) - len(values))

    def combinations(cells_of, chosen):
        return {each for each in map(combination, cells_of) if all(value in axis for value, axis in zip(each, chosen))}

    trained = report("train and same", combinations(cells.training_cells(), axes.PAIRWISE), combinations(cells.pairwise_cells(), axes.PAIRWISE))
    scheduled = report("schedules", *({tuple(cell.name.split("/")[1:]) for cell in chosen}
                                      for chosen in (cells.schedule_cells(), cells.pairwise_schedule_cells())))
    on_cuda = report("cuda", *({tuple(cell.name.split("/")[1:]) for cell in chosen}
                               for chosen in (cuda_cells.against_the_host(), cuda_cells.pairwise_cells())))
    sys.exit(not (trained and scheduled and on_cuda))


if __name__ == "__main__":
    main()
