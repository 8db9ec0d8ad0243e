"""The bare model on a workload (groups as JSON on standard input): the least processor time that it can take."""

from __future__ import annotations

import json
import sys
import time

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

torch.set_num_threads(1)
folder, groups = sys.argv[1], json.load(sys.stdin)
tokenizer = AutoTokenizer.from_pretrained(folder)
model = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32).eval()
texts = [f"{prompt} {response}" for prompt, responses in groups for response in responses]


@torch.inference_mode()
def score(texts: list[str], budget: int) -> None:
    ids = sorted(tokenizer(texts, add_special_tokens=False)["input_ids"], key=len)
    batch: list[list[int]] = []
    for row in [*ids, None]:
        if batch and (row is None or len(row) * (len(batch) + 1) > budget):
            width = len(batch[-1])
            padded = torch.tensor([each + [0] * (width - len(each)) for each in batch])
            mask = torch.tensor([[1] * len(each) + [0] * (width - len(each)) for each in batch])
            model(input_ids=padded, attention_mask=mask).logits[:, 0].tolist()
            batch = []
        if row is not None:
            batch.append(row)


score(texts[:2], 512)
best = float("inf")
for budget in (512, 1024, 2048):
    start = time.process_time()
    score(texts, budget)
    best = min(best, time.process_time() - start)
print(json.dumps({"cpu_of_1000": 1000 * best / len(texts)}))
