"""Writes the logits of the trained network into test/models/encoder/readings.json: python reference.py READER.safetensors"""
import json
import pathlib
import sys

import jax.numpy as jnp
import numpy as np
import train
from safetensors.numpy import load_file
from train import logits, original_weights, to_batch

# The reference is computed with float32 numbers.
train.product = jnp.matmul
file = pathlib.Path(__file__).parent.parent.parent / "test/models/encoder/readings.json"
readings = json.loads(file.read_text())
weights = {**original_weights(), **load_file(sys.argv[1])}
for reading in readings:
    rows = reading["rows"]
    excerpts = [
        {"first": own[0], "count": len(own), "score": reading["excerpts"][int(index)]["score"], "isAnswer": False} for index, own in rows.items()
    ]
    [[none, *each]] = np.asarray(logits(weights, to_batch([{"tokens": reading["tokens"], "excerpts": excerpts}])), np.float64)
    reading["none"] = round(none, 3)
    reading["logits"] = {index: round(each[at], 3) for at, index in enumerate(rows)}
file.write_text(json.dumps(readings, indent=2) + "\n")
