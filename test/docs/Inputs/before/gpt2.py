"""A batch of tokens for a model of the transformers package."""
import torch
import transformers

import cleave

torch.manual_seed(0)
tokens = torch.randint(256, (2, 16))
