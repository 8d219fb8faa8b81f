"""Models as lists of kernels: reads a model file, expands its layers to calls, and sums the rows of
a run to the model's time."""
