"""infinity's own client package: classify and rerank.

    pip install infinity-client==0.0.78
    GUERDON_PYTHON=/path/to/python/with/guerdon python benchmarks/clients/infinity_calls.py

It never tries a status again, and what it makes of one that is not 200 is no result.
"""

from __future__ import annotations

import importlib.metadata

from _live import TOO_LONG, Live, live, raised
from infinity_client import Client
from infinity_client.api.default import classify, rerank
from infinity_client.models import ClassifyInput, ClassifyResult, RerankInput, ReRankResult

QUESTION = "what is 6 times 7?"
SAID = ["the answer is 42", "hello world", "no"]


def main(guerdon: Live) -> None:
    texts = [f"<|start_header_id|>user<|end_header_id|>\n\n{i} times 7?<|eot_id|>" for i in range(5)]
    with guerdon.proxy() as server:
        client = Client(base_url=server.url)

        def classified(model: str, texts: list[str]) -> object:
            body = ClassifyInput.from_dict({"input": texts, "model": model, "raw_scores": True})
            return classify.sync(client=client, body=body)

        answer = classified("helpful", texts)
        expected = guerdon.scores([{"text": text, "special_tokens": True} for text in texts])
        guerdon.equal("classify, raw scores", [row[0].score for row in answer.data], expected)
        asked = {"query": QUESTION, "documents": SAID, "model": "helpful", "raw_scores": True, "return_documents": True}
        mounted = Client(base_url=f"{server.url}/compat/infinity")
        for name, at in (("rerank", client), ("rerank under its own mount", mounted)):
            answer = rerank.sync(client=at, body=RerankInput.from_dict(asked))
            guerdon.check(f"{name} gives its result", isinstance(answer, ReRankResult), answer)
            expected = guerdon.scores([{"prompt": QUESTION, "response": text} for text in SAID])
            got = {result.index: result for result in answer.results}
            guerdon.equal("its raw scores", [got[i].relevance_score for i in range(len(SAID))], expected)
            guerdon.check("and documents", [got[i].document for i in range(len(SAID))] == SAID, answer)
        for what, model, given in (
            ("an over-long text", "helpful", [TOO_LONG]),
            ("what is not judged", "math", ["42"]),
        ):
            answer = raised(classified, model, given) or classified(model, given)
            guerdon.check(f"{what} is no result", not isinstance(answer, ClassifyResult), answer)
        guerdon.check("but a status", set(server.statuses()) == {200, 413, 422}, server.seen)
    with guerdon.proxy(fails=1) as server:
        client = Client(base_url=server.url)
        guerdon.check("a 503 is no result", classified("helpful", texts) is None)


if __name__ == "__main__":
    with live(__doc__) as guerdon:
        main(guerdon)
        guerdon.finish(f"infinity-client {importlib.metadata.version('infinity-client')}")
