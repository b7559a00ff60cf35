"""A character model in numpy: the embeddings of the last characters, one hidden layer, plain gradient descent."""

import time

import numpy as np

ALPHABET = " abcdefghijklmnopqrstuvwxyz"
CONTEXT = 3
EMBEDDING = 8
HIDDEN = 48
BATCH = 64
RATE = 0.05
SCALE = 0.1


class Model:
    def __init__(self, rng):
        size = len(ALPHABET)
        self.embedding = rng.normal(0, SCALE, (size, EMBEDDING))
        self.first = rng.normal(0, SCALE, (CONTEXT * EMBEDDING, HIDDEN))
        self.bias = np.zeros(HIDDEN)
        self.second = rng.normal(0, SCALE, (HIDDEN, size))
        self.last = np.zeros(size)

    def forward(self, inputs):
        seen = self.embedding[inputs].reshape(len(inputs), -1)
        hidden = np.tanh(seen @ self.first + self.bias)
        logits = hidden @ self.second + self.last
        powers = np.exp(logits - logits.max(1, keepdims=True))
        return seen, hidden, powers / powers.sum(1, keepdims=True)

    def step(self, inputs, targets):
        seen, hidden, probabilities = self.forward(inputs)
        error = probabilities
        error[np.arange(len(targets)), targets] -= 1
        error /= len(targets)
        back = (error @ self.second.T) * (1 - hidden**2)
        into = (back @ self.first.T).reshape(*inputs.shape, EMBEDDING)
        self.second -= RATE * hidden.T @ error
        self.last -= RATE * error.sum(0)
        self.first -= RATE * seen.T @ back
        self.bias -= RATE * back.sum(0)
        np.add.at(self.embedding, inputs, -RATE * into)

    def probabilities(self, context):
        codes = [0] * CONTEXT + [ALPHABET.index(c) for c in context[-CONTEXT:]]
        return self.forward(np.array([codes[-CONTEXT:]]))[2][0]


def train(text, seconds, seed):
    rng = np.random.default_rng(seed)
    codes = np.array([ALPHABET.index(c) for c in text])
    windows = np.lib.stride_tricks.sliding_window_view(codes, CONTEXT + 1)
    model = Model(rng)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        batch = windows[rng.integers(0, len(windows), BATCH)]
        model.step(batch[:, :-1], batch[:, -1])
    return model
