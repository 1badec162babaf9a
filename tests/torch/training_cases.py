"""A few steps of DistributedDataParallel, and the same by one process."""

import hashlib
import signal

import torch
from torch.nn.parallel import DistributedDataParallel

import treecast.torch
from tests.torch.ranks import harm

STEPS, AT = 4, 2
NORM = 1.0  # to which gradients are clipped: theirs is more


def make_model():
    torch.manual_seed(0)
    layers = [torch.nn.Linear(16, 96), torch.nn.BatchNorm1d(96), torch.nn.ReLU(), torch.nn.Linear(96, 96)]
    return torch.nn.Sequential(*layers, torch.nn.ReLU(), torch.nn.Linear(96, 1)).double()


def batch(rank, step):
    inputs = torch.randn(6, 16, generator=torch.Generator().manual_seed(1000 * step + rank)).double()
    return inputs, inputs.sum(1, keepdim=True)


def loss_of(model, rank, step):
    inputs, wanted = batch(rank, step)
    return torch.nn.functional.mse_loss(model(inputs), wanted)


def flat(model):
    return torch.cat([each.detach().reshape(-1) for each in model.parameters()])


def digest(model):
    return hashlib.sha256(flat(model).numpy().tobytes()).hexdigest()


def train(rank, victim=None, frame=None, what=signal.SIGKILL):
    """Train; the victim gets a signal at a frame of step AT.

    Return the digest, the parameters, who has failed, and the victim's frames in that step.
    """
    model = make_model()
    ddp = treecast.torch.mean(DistributedDataParallel(model, bucket_cap_mb=0.02))
    optimiser = torch.optim.SGD(model.parameters(), lr=0.05)
    frames, sent = None, 0
    try:
        for step in range(STEPS):
            if step == AT and rank == victim:
                frames = harm(frame, what)
            optimiser.zero_grad()
            loss_of(ddp, rank, step).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), NORM)
            optimiser.step()
            if step == AT and frames is not None:
                sent = frames[0]
    except RuntimeError as error:
        if rank == victim and "is cut off" in str(error):
            return "Evicted"
        raise
    return digest(model), flat(model), treecast.torch.failed(), sent


def train_alone(size, victim=None, last=STEPS):
    """Return the parameters when one process does it all, and the victim's batches of the steps from ``last`` on are left out."""
    model = make_model()
    optimiser = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(STEPS):
        ranks = [rank for rank in range(size) if rank != victim or step < last]
        optimiser.zero_grad()
        for rank in ranks:
            (loss_of(model, rank, step) / len(ranks)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), NORM)
        optimiser.step()
    return flat(model)
