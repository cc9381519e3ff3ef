"""close_beside_calls.py INFER.so: threads share a model. Their calls take turns, each with its own inputs and outputs; close() waits for the call
that runs, and the threads' next calls say that the model is closed."""
import sys
import threading
import time

import numpy as np

import cleave

for patience in (0, 0.001, 0.02, 0.1):
    model = cleave.Model(sys.argv[1])
    rng = np.random.default_rng(0)
    fed = [{name: rng.standard_normal(tensor.shape).astype(np.float32) if tensor.dtype == np.float32 else rng.integers(0, 3, tensor.shape)
            for name, tensor in model.inputs().items()} for _ in range(4)]
    expected = [model.infer(**inputs) for inputs in fed]
    endings, wrong = [], []

    def run(i):
        try:
            while True:
                for name, array in model.infer(**fed[i]).items():
                    if not np.array_equal(array, expected[i][name]):
                        wrong.append((i, name))
        except ValueError as error:
            endings.append(str(error))

    threads = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(patience)
    model.close()
    for thread in threads:
        thread.join(timeout=30)
        assert not thread.is_alive()
    assert not wrong, f"an output of another thread's inputs: {wrong[:3]}"
    assert len(endings) == 4 and all("the model is closed" in ending for ending in endings), endings
    model.close()
