"""huggingface_hub's InferenceClient, whose text_classification is text-embeddings-inference's ``/predict``.

    pip install huggingface_hub==2.4.0
    GUERDON_PYTHON=/path/to/python/with/guerdon python benchmarks/clients/tei_huggingface.py

It asks for no raw scores, so what it reads is the sigmoid of the reward. It never tries a status again. Of an answer
for one text, which has one list less than the hub's own, it gives the first element, as it does with the engine itself.
"""

from __future__ import annotations

import importlib.metadata
import math

from _live import TOO_LONG, Live, live, raised
from huggingface_hub import InferenceClient


def main(guerdon: Live) -> None:
    texts = [f"<|start_header_id|>user<|end_header_id|>\n\n{i} times 7?<|eot_id|>" for i in range(5)]
    logits = guerdon.scores([{"text": text, "special_tokens": True} for text in texts])
    expected = [1 / (1 + math.exp(-logit)) for logit in logits]
    with guerdon.proxy() as server:
        client = InferenceClient(model=f"{server.url}/s/helpful/predict")
        got = [client.text_classification(text).score for text in texts]
        guerdon.equal("the sigmoid of the rewards", got, expected)
        error = raised(client.text_classification, TOO_LONG)
        status = getattr(getattr(error, "response", None), "status_code", None)
        guerdon.check("an over-long text raises", status == 413, error)
        error = raised(InferenceClient(model=f"{server.url}/s/math/predict").text_classification, "42")
        status = getattr(getattr(error, "response", None), "status_code", None)
        guerdon.check("a sample that is not judged raises", status == 422, error)
    with guerdon.proxy(fails=1) as server:
        client = InferenceClient(model=f"{server.url}/s/helpful/predict")
        error = raised(client.text_classification, texts[0])
        status = getattr(getattr(error, "response", None), "status_code", None)
        guerdon.check("a 503 raises", status == 503, error)
        guerdon.equal("and the next call is right", [client.text_classification(texts[0]).score], expected[:1])


if __name__ == "__main__":
    with live(__doc__) as guerdon:
        main(guerdon)
        guerdon.finish(f"huggingface_hub {importlib.metadata.version('huggingface_hub')}")
