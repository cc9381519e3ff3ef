"""The same random weights in each run."""
import torch

torch.manual_seed(0)
