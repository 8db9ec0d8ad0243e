"""The openai package's embeddings, which is the form that verl's SGLang path reads rewards in.

pip install openai==3.57.0
GUERDON_PYTHON=/path/to/python/with/guerdon python benchmarks/clients/openai_embeddings.py
"""

from __future__ import annotations

import importlib.metadata

import openai
from _live import TOO_LONG, Live, live, raised


def main(guerdon: Live) -> None:
    texts = [f"<|start_header_id|>user<|end_header_id|>\n\n{i} times 7?<|eot_id|>" for i in range(5)]
    expected = guerdon.scores([{"text": text, "special_tokens": True} for text in texts])
    with guerdon.proxy(fails=2) as server:
        client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="none")
        for form in ("float", "base64", None):  # None is the package's own choice
            more = {} if form is None else {"encoding_format": form}
            answer = client.embeddings.create(model="helpful", input=texts, **more)
            guerdon.equal(f"embeddings, encoding_format {form}", [row.embedding[0] for row in answer.data], expected)
        guerdon.check("the first two tries were refused", server.statuses().count(503) == 2, server.seen)
        guerdon.check("the list of models", [m.id for m in client.models.list()] == ["helpful", "math"])
        error = raised(lambda: client.embeddings.create(model="helpful", input=[TOO_LONG]))
        guerdon.check("an over-long text raises", getattr(error, "status_code", None) == 413, error)
        error = raised(lambda: client.embeddings.create(model="math", input=["42"]))
        guerdon.check("a sample that is not judged raises", getattr(error, "status_code", None) == 422, error)


if __name__ == "__main__":
    with live(__doc__) as guerdon:
        main(guerdon)
        guerdon.finish(f"openai {importlib.metadata.version('openai')}")
