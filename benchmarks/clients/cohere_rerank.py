"""The cohere package's v2 rerank, which Jina's and vLLM's clients send too.

pip install cohere==7.3.1
GUERDON_PYTHON=/path/to/python/with/guerdon python benchmarks/clients/cohere_rerank.py
"""

from __future__ import annotations

import importlib.metadata

import cohere
from _live import TOO_LONG, Live, live, raised

QUESTION = "what is 6 times 7?"
SAID = ["the answer is 42", "hello world", "no", "it is 41"]


def main(guerdon: Live) -> None:
    expected = guerdon.scores([{"prompt": QUESTION, "response": text} for text in SAID])
    order = sorted(range(len(SAID)), key=lambda i: -expected[i])
    with guerdon.proxy(fails=2) as server:
        client = cohere.ClientV2("none", base_url=server.url)
        for top in (None, 2):
            results = client.rerank(model="helpful", query=QUESTION, documents=SAID, top_n=top).results
            guerdon.check(f"the order, top_n {top}", [r.index for r in results] == order[:top], results)
            guerdon.equal("the raw scores", [r.relevance_score for r in results], [expected[i] for i in order[:top]])
        guerdon.check("the first two tries were refused", server.statuses().count(503) == 2, server.seen)
        error = raised(lambda: client.rerank(model="helpful", query=QUESTION, documents=[*SAID, TOO_LONG]))
        guerdon.check("an over-long document raises", getattr(error, "status_code", None) == 413, error)
        error = raised(lambda: client.rerank(model="math", query=QUESTION, documents=SAID))
        guerdon.check("samples that are not judged raise", getattr(error, "status_code", None) == 422, error)


if __name__ == "__main__":
    with live(__doc__) as guerdon:
        main(guerdon)
        guerdon.finish(f"cohere {importlib.metadata.version('cohere')}")
