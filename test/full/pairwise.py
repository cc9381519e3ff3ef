"""A small subset of a product of axes in which every pair of values of two axes appears that appears at all.

Most faults that depend on a combination depend on a pair; all pairs of five axes with 5 x 7 x 2 x 3 x 4 values fit into about 40 of
the 840 combinations. Greedy: the next combination is the first one with the most pairs that are still missing.

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


def main():
    import axes
    import cells

    def combination(cell):
        _, *values = cell.name.split("/")
        return tuple(values) + ("plain",) * (len(axes.PAIRWISE) - len(values))

    every = {combination(cell) for cell in cells.training_cells()}
    every = {each for each in every if all(value in axis for value, axis in zip(each, axes.PAIRWISE))}
    subset = {combination(cell) for cell in cells.pairwise_cells()}
    missing = set().union(*map(pairs_of, every)) - set().union(*map(pairs_of, subset))
    print(f"{len(subset)} of {len(every)} cells; pairs of values that are in none: {sorted(missing) or 'none'}")
    sys.exit(1 if missing or not subset < every or len(subset) > len(every) / 3 else 0)


if __name__ == "__main__":
    main()
